"""Programs that play one episode of an agent: with curl, in Python and in JavaScript."""

from __future__ import annotations

import json
from dataclasses import dataclass

from app.wire.agents import AgentView
from app.wire.specification.spaces import Box, Labels

_KEY = "PLAUDIT_KEY"


@dataclass(frozen=True)
class Snippet:
    """A program for a page."""

    language: str
    text: str


def snippets(agent: AgentView, url: str, has_keys: bool) -> list[Snippet]:
    """The programs, with the address of this server and the id of the agent."""
    state = json.dumps(_state(agent))
    return [
        Snippet("Python", _python(agent, url, has_keys)),
        Snippet("curl", _curl(agent, url, has_keys, state)),
        Snippet("JavaScript", _javascript(agent, url, has_keys)),
    ]


def _state(agent: AgentView) -> object:
    """A state as a client sends it."""
    states = agent.states
    if isinstance(states, Labels):
        return states.values[0]
    if isinstance(states, Box):
        return [0.0 if low is None else low for low in states.low]
    return 0


def _python(agent: AgentView, url: str, has_keys: bool) -> str:
    key = f', key=os.environ["{_KEY}"]' if has_keys else ""
    head = "import os\n\nimport plaudit\n" if has_keys else "import plaudit\n"
    return (
        f'{head}\nagent = plaudit.Client("{url}"{key}).agent("{agent.id}")\n'
        "with agent.episode() as episode:\n"
        "    while not episode.over:\n"
        "        robot.do(episode.act(robot.state()))\n"
        "    episode.label(ask_somebody())\n"
    )


def _curl(agent: AgentView, url: str, has_keys: bool, state: str) -> str:
    key = f' -H "Authorization: Bearer ${_KEY}"' if has_keys else ""
    post = f"curl -sS{key} --json"
    quoted = state.replace("'", "'\\''")
    return (
        f"EPISODE=$({post} '{{}}' {url}/v1/agents/{agent.id}/episodes | jq -r .id)\n"
        f"{post} '{{\"state\": {quoted}}}' {url}/v1/episodes/$EPISODE/steps   # once a step\n"
        f"{post} '{{}}' {url}/v1/episodes/$EPISODE/finish\n"
        f"{post} '{{\"label\": 1}}' {url}/v1/episodes/$EPISODE/label\n"
    )


def _javascript(agent: AgentView, url: str, has_keys: bool) -> str:
    key = f"\n    Authorization: `Bearer ${{process.env.{_KEY}}}`," if has_keys else ""
    return (
        "const post = async (path, body) => {\n"
        '  const headers = { "Content-Type": "application/json",' + key + " };\n"
        '  const options = { method: "POST", headers, body: JSON.stringify(body) };\n'
        f'  const answer = await fetch("{url}/v1/" + path, options);\n'
        "  if (!answer.ok) throw new Error(await answer.text());\n"
        "  return answer.json();\n"
        "};\n"
        f'const {{ id }} = await post("agents/{agent.id}/episodes", {{}});\n'
        "for (let last = false; !last; ) {\n"
        "  const step = await post(`episodes/${id}/steps`, { state: robot.state() });\n"
        "  robot.do(step.action);\n"
        "  last = step.last;\n"
        "}\n"
        "await post(`episodes/${id}/label`, { label: askSomebody() });\n"
    )
