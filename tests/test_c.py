"""The example in C chooses the server's own actions, for the kinds that it runs."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import plaudit
from plaudit.offline.player import Player
from tests.support.running import LAKE
from tests.support.system import need

EXAMPLES = Path(__file__).parent.parent / "examples"
EPISODES = 100
MAIN = """
#include <stdio.h>
#include "policy.c"
int main(void) {
  for (int episode = 0; episode < EPISODES; episode++) {
    int64_t memory = 0;
    for (int step = 0; step < policy.horizon; step++) {
      int state = (episode + 3 * step) % policy.states;
      uint64_t number = policy.episode_number + (uint64_t)episode;
      printf("%d ", (int)plaudit_act(&policy, number, step, state, &memory));
    }
  }
  int64_t memory = 0;
  printf("%d", (int)plaudit_act(&policy, 0, policy.horizon, 0, &memory));
  return 0;
}
"""
AGENTS = {
    "uniform": {"algorithm": "uniform"},
    "markov": {
        "algorithm": {"kind": "ucbvi_explore", "n_euler": 20},
        "features": {"kind": "one_hot", "over": ["state", "action"]},
    },
    "grid": {"features": {"kind": "one_hot", "over": ["state", "action"]}},
}


def converted(document):
    command = [sys.executable, str(EXAMPLES / "policy_to_c.py")]
    text = json.dumps(document)
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False)


def run_c(source, folder):
    """Compile with every warning an error; the actions that the program prints."""
    need("cc")
    (folder / "policy.c").write_text(source)
    (folder / "main.c").write_text(MAIN)
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", f"-DEPISODES={EPISODES}"]
    paths = ["-I", str(EXAMPLES), "-o", str(folder / "main"), str(folder / "main.c"), "-lm"]
    subprocess.run(["cc", *flags, *paths], check=True)
    found = subprocess.run([str(folder / "main")], capture_output=True, text=True, check=True)
    return [int(word) for word in found.stdout.split()]


def hosted(client, kind):
    """An agent of which some episodes are learned, and its policy."""
    fields = {name: value for name, value in LAKE.items() if name != "name"}
    agent = client.agent(f"C {kind}", **fields | AGENTS[kind])
    for number in range(12):
        with agent.episode() as episode:
            states = [(number + 3 * step) % 4 for step in range(agent.view.horizon)]
            right = sum(episode.act(state) == state % 2 for state in states)
            if episode.status == "awaiting_label":
                episode.label(right >= 3)
    agent.wait_until_learned()
    return agent


@pytest.mark.parametrize("kind", AGENTS)
def test_it_acts_as_the_server_does(kind, shared_server, tmp_path):
    with plaudit.Client(shared_server.url) as client:
        agent = hosted(client, kind)
        view = agent.policy("exploit" if kind == "grid" else "learn")
        agent.delete()
    document = {**vars(view), "states": vars(view.states), "actions": vars(view.actions)}
    assert view.policy["kind"] == kind
    done = converted(document)
    assert done.returncode == 0, done.stderr
    *actions, beyond = run_c(done.stdout, tmp_path)
    expected, player, states = [], Player(view), view.states.n
    for episode in range(EPISODES):
        playing = player.play(view.episode_number + episode)
        expected += [playing.act((episode + 3 * step) % states) for step in range(view.horizon)]
    assert actions == expected
    assert beyond == -1
    assert len(set(actions)) > 1


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"policy": {"kind": "network"}}, "not for C"),
        ({"actions": {"kind": "discrete", "n": 300}}, "300 actions"),
        ({"states": {"kind": "box", "bins": None}}, "without bins"),
    ],
)
def test_what_does_not_fit_is_refused(changes, reason):
    space = {"kind": "discrete", "n": 2}
    document = {"policy": {"kind": "uniform"}, "states": space, "actions": space, "seed": "0",
                "episode_number": 0, "horizon": 3}  # fmt: skip
    done = converted(document | changes)
    assert done.returncode == 1
    assert reason in done.stderr
