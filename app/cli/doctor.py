"""`plaudit doctor`: try a server out, and say in a table what holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated
from uuid import uuid4

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from plaudit import Agent, Client, PlauditError

if TYPE_CHECKING:
    import httpx

_STATES, _ACTIONS, _HORIZON = 5, 3, 4


def doctor(
    url: Annotated[str, typer.Argument(help="Address of the server.")] = "http://127.0.0.1:8000",
    key: Annotated[
        str | None, typer.Option(envvar="PLAUDIT_KEY", help="A key of the role operator.")
    ] = None,
) -> None:
    """Try a server out: retries, duplicates, reordering, early ends, bad input, replays.

    It creates agents of its own and deletes them afterwards. The exit code is 1 if a check fails.
    """
    console = Console()
    with Client(url, key, patience=5) as client, _http(url, key) as http:
        patient = Patient(client, http)
        table, failed = Table(box=None, pad_edge=False), 0
        for heading in ("check", "result"):
            table.add_column(heading)
        for title, check in CHECKS:
            problem = _run(check, patient)
            failed += problem is not None
            text = "[green]holds[/green]" if problem is None else f"[red]{escape(problem)}[/red]"
            table.add_row(title, text)
    console.print(table)
    if failed:
        console.print(f"{failed} of {len(CHECKS)} checks failed.")
        raise typer.Exit(1)
    console.print(f"All {len(CHECKS)} checks hold.")


class Patient:
    """The server under examination: by the client, and by plain HTTP for what it would refuse."""

    def __init__(self, client: Client, http: httpx.Client) -> None:
        self.client = client
        self._http = http

    @contextmanager
    def agent(self, seed: int = 0) -> Iterator[Agent]:
        """An agent that is deleted afterwards."""
        view = self.client.create_agent(
            f"doctor {uuid4().hex[:8]}",
            states=_STATES,
            actions=_ACTIONS,
            horizon=_HORIZON,
            seed=seed,
        )
        agent = self.client.agent(view.name)
        try:
            yield agent
        finally:
            agent.delete()

    def post(self, path: str, body: str, **headers: str) -> httpx.Response:
        """Send a body as it is."""
        return self._http.post(path, content=body, headers=headers)


def _http(url: str, key: str | None) -> httpx.Client:
    import httpx

    headers = {"Content-Type": "application/json"}
    if key is not None:
        headers["Authorization"] = f"Bearer {key}"
    return httpx.Client(base_url=f"{url.rstrip('/')}/v1", headers=headers, timeout=60)


def _run(check: Callable[[Patient], None], patient: Patient) -> str | None:
    """What is wrong, or None."""
    import httpx

    try:
        check(patient)
    except (AssertionError, PlauditError, httpx.HTTPError) as error:
        return str(error) or type(error).__name__
    return None


def _expect(found: object, wanted: object, what: str) -> None:
    if found != wanted:
        raise AssertionError(f"{what}: expected {wanted}, got {found}")


def check_readiness(patient: Patient) -> None:
    """The server is ready."""
    _expect(patient.client.read_readiness().status, "ok", "/readyz")


def check_retries(patient: Patient) -> None:
    """A step that is sent again has the same answer, and is recorded once."""
    with patient.agent() as agent, agent.episode() as episode:
        path = f"episodes/{episode.id}/steps"
        answers = [patient.post(path, '{"state": 2, "step": 0}').json() for _ in range(3)]
        _expect(answers[1:], answers[:1] * 2, "the same step again")
        _expect(len(episode.refresh().steps), 1, "recorded steps")


def check_duplicates(patient: Patient) -> None:
    """A start with the same Idempotency-Key starts one episode."""
    with patient.agent() as agent:
        path, token = f"agents/{agent.id}/episodes", uuid4().hex
        ids = {patient.post(path, "{}", **{"Idempotency-Key": token}).json()["id"] for _ in "123"}
        _expect(len(ids), 1, "episodes started")


def check_order(patient: Patient) -> None:
    """Steps out of order, or with another state, are conflicts."""
    with patient.agent() as agent, agent.episode() as episode:
        path = f"episodes/{episode.id}/steps"
        _expect(patient.post(path, '{"state": 0, "step": 2}').status_code, 409, "a later step")
        episode.act(0)
        _expect(patient.post(path, '{"state": 1, "step": 0}').status_code, 409, "another state")
        label = patient.post(f"episodes/{episode.id}/label", '{"label": 1}')
        _expect(label.status_code, 409, "a label of a running episode")


def check_early_end(patient: Patient) -> None:
    """An episode ends before its horizon, and its label can be corrected."""
    with patient.agent() as agent:
        with agent.episode() as episode:
            episode.act(0)
            episode.finish(_STATES - 1, label=0)
        _expect(episode.replace_label(1).label, 1, "the corrected label")
        _expect(agent.wait_until_learned(30).learning, "idle", "learning after a label")
        _expect(agent.refresh().episodes.labelled, 1, "labelled episodes")


def check_bad_input(patient: Patient) -> None:
    """NaN, wrong types, unknown fields and unknown ids get a problem with a reason."""
    with patient.agent() as agent, agent.episode() as episode:
        path = f"episodes/{episode.id}/steps"
        for body in ('{"state": NaN}', '{"state": "x"}', '{"state": 99}', "{", '{"stat": 1}'):
            answer = patient.post(path, body)
            _expect(answer.status_code, 422, body)
            _expect("detail" in answer.json(), True, f"{body} has a detail")
        _expect(episode.refresh().steps, [], "recorded steps")
    _expect(patient.post("episodes/eps_unknown/steps", '{"state": 0}').status_code, 404, "an id")


def check_same_seed(patient: Patient) -> None:
    """The same seed and the same requests give the same actions."""
    with patient.agent(seed=7) as one, patient.agent(seed=7) as other:
        _expect(_played(one), _played(other), "actions")


def check_replay(patient: Patient) -> None:
    """Exported episodes can be imported, and teach the same model."""
    with patient.agent(seed=7) as source, patient.agent(seed=7) as copy:
        _played(source)
        episodes = list(source.export())
        copy.import_trajectories(episodes)
        pairs = [
            [(line.states, line.actions, line.label) for line in agent.export()]
            for agent in (source, copy)
        ]
        _expect(pairs[1], pairs[0], "episodes of the copy")
        visits = []
        for agent in (source, copy):
            agent.wait_until_learned(30)
            visits.append(agent.model().visits)
        _expect(visits[1], visits[0], "visit counts of the copy")


def _played(agent: Agent) -> list[object]:
    """Play three episodes in one fixed way; the actions."""
    actions: list[object] = []
    for index in range(3):
        with agent.episode() as episode:
            actions += [episode.act((index + step) % _STATES) for step in range(_HORIZON)]
            episode.label(index % 2)
    return actions


CHECKS = [
    (check.__doc__ or "", check)
    for check in (
        check_readiness,
        check_retries,
        check_duplicates,
        check_order,
        check_early_end,
        check_bad_input,
        check_same_seed,
        check_replay,
    )
]
