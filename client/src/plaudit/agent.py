"""Agents: start episodes, read what was learned, change, import and export."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from plaudit._core.calls import Asynchronous, Blocking, listing_method, method
from plaudit._core.flow import Flow, token
from plaudit._core.session import AsyncSession, BlockingSession, Pager
from plaudit.answers.agents import AgentView, GuidelinesView
from plaudit.answers.episodes import EpisodeSummary
from plaudit.answers.insight import CurveView, ModelView, PolicyView
from plaudit.answers.trajectories import TrajectoriesAnswer
from plaudit.answers.values import PlayMode, Status, Wait
from plaudit.endpoints import agents, episodes, fleets, insights
from plaudit.endpoints.body import LEFT_OUT, LeftOut
from plaudit.endpoints.episodes import Order
from plaudit.endpoints.fleets import ExportLines, TrajectoryLike
from plaudit.endpoints.insights import EventLines
from plaudit.episode import AsyncEpisode, Episode, EpisodeCalls, Start

if TYPE_CHECKING:
    import gymnasium

    from plaudit.gym.evaluate import Evaluation
    from plaudit.gym.labelling import LabelFunction, Labeller
    from plaudit.gym.train import Training
    from plaudit.offline.agent import OfflineAgent

E = TypeVar("E", bound=EpisodeCalls)
_POLL_SECONDS = 0.05


class AgentCalls(Generic[E]):
    """What blocking and async agents share."""

    _session: BlockingSession | AsyncSession

    def __init__(self, view: AgentView) -> None:
        self.view = view
        """The agent as the server last described it; `refresh` reads it again."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} {self.id}>"

    @property
    def id(self) -> str:
        """The id of the agent."""
        return self.view.id

    @property
    def name(self) -> str:
        """The name of the agent."""
        return self.view.name

    @property
    def url(self) -> str:
        """The address of the server that the agent lives on."""
        return self._session.connection.url

    def episode(
        self,
        *,
        mode: PlayMode = "learn",
        learn_transitions: bool = True,
        external_id: str | None = None,
        metadata: Mapping[str, object] | None = None,
        labels_wanted: int | None = None,
        wait: Wait | None = None,
    ) -> E:
        """An episode to act in. It starts when its `with` block is entered, or with its first act.

        ``wait=True`` waits for learning that is under way, ``wait=False`` starts at once, for
        fleets, and ``wait="adaptive"`` waits only while learning is quicker than an episode; by
        default the agent's specification says. ``mode="exploit"`` plays without exploration.
        ``mode="evaluate"`` plays the same and wants no label: its result is kept apart from the
        model, and with ``learn_transitions=False`` nothing is learned from it.
        """
        return self._episode(
            partial(
                episodes.start_episode,
                self.id,
                mode=mode,
                learn_transitions=learn_transitions,
                external_id=external_id,
                metadata=metadata,
                labels_wanted=labels_wanted,
                wait=wait,
                idempotency_key=token(16),
            )
        )

    def _episode(self, start: Start) -> E:
        raise NotImplementedError

    @listing_method
    def episodes(
        self,
        *,
        status: Status | None = None,
        external_id: str | None = None,
        order: Order = "oldest",
        page_size: int = 100,
    ) -> Pager[EpisodeSummary]:
        """Iterate over the episodes of the agent."""
        return episodes.list_episodes(
            self.id, status=status, external_id=external_id, order=order, page_size=page_size
        )

    @method
    def refresh(self) -> Flow[AgentView]:
        """Read the agent: its episodes, success rate, policy version, and whether it learns."""
        self.view = yield from agents.read_agent(self.id)
        return self.view

    @method
    def wait_until_learned(self, seconds: float | None = None) -> Flow[AgentView]:
        """Wait until the agent has learned all labels so far, or the time is over."""
        began = time.monotonic()
        yield from self._look(0.0)
        while self.view.learning in ("queued", "running"):
            spent = time.monotonic() - began
            if seconds is not None and spent >= seconds:
                break
            yield from self._look(min(1.0, max(_POLL_SECONDS, spent / 10)))
        return self.view

    def _look(self, after: float) -> Flow[None]:
        self.view = yield from agents.read_agent_after(after, self.id)

    @method
    def change(
        self,
        *,
        name: str | LeftOut = LEFT_OUT,
        metadata: Mapping[str, object] | LeftOut = LEFT_OUT,
        display: Mapping[str, object] | LeftOut | None = LEFT_OUT,
        paused: bool | LeftOut = LEFT_OUT,
        question: str | LeftOut | None = LEFT_OUT,
        guidelines: str | LeftOut | None = LEFT_OUT,
        examples: Mapping[str, object] | LeftOut | None = LEFT_OUT,
    ) -> Flow[AgentView]:
        """Change what does not touch learning, or pause the agent. What is left out stays.

        ``examples`` has the ids of ``good`` and ``bad`` episodes that labellers are shown.
        """
        self.view = yield from agents.change_agent(
            self.id,
            name=name,
            metadata=metadata,
            display=display,
            paused=paused,
            question=question,
            guidelines=guidelines,
            examples=examples,
        )
        return self.view

    @method
    def guidelines(self) -> Flow[list[GuidelinesView]]:
        """Every version of the question and the guidelines, oldest first."""
        return (yield from agents.list_guidelines(self.id))

    @method
    def delete(self) -> Flow[None]:
        """Delete the agent with all its episodes."""
        yield from agents.delete_agent(self.id)

    @method
    def model(self) -> Flow[ModelView]:
        """The learned weights, visit counts, transition estimate and bonuses."""
        return (yield from insights.read_model(self.id))

    @method
    def policy(
        self, mode: Literal["learn", "exploit"] = "learn", *, known: PolicyView | None = None
    ) -> Flow[PolicyView]:
        """The policy in force, to run without the server; ``known`` itself if it still is."""
        return (yield from insights.read_policy(self.id, mode=mode, known=known))

    @method
    def curve(self) -> Flow[CurveView]:
        """The learning curve: observed success, and what every policy promised."""
        return (yield from insights.read_curve(self.id))

    @method
    def import_trajectories(
        self, trajectories: Iterable[TrajectoryLike], *, idempotency_key: str | None = None
    ) -> Flow[TrajectoriesAnswer]:
        """Learn from logged episodes, all or none of them. Lines of an export fit as they are."""
        return (
            yield from fleets.import_trajectories(
                self.id, trajectories, idempotency_key=idempotency_key
            )
        )

    @listing_method
    def export(self) -> ExportLines:
        """Iterate over every episode that is over, oldest first."""
        return fleets.export_episodes(self.id)

    @listing_method
    def events(self, *, after: int | None = None) -> EventLines:
        """Iterate over events as they come; the stream reconnects by itself."""
        return insights.stream_events(self.id, after=after)


class Agent(AgentCalls[Episode], Blocking):
    """An agent that lives on a server."""

    _session: BlockingSession

    def __init__(self, session: BlockingSession, view: AgentView) -> None:
        super().__init__(view)
        self._session = session
        self._label: LabelFunction | None = None

    def _episode(self, start: Start) -> Episode:
        return Episode(self._session, start)

    def train(
        self,
        env: gymnasium.Env[Any, Any] | gymnasium.vector.VectorEnv[Any, Any, Any],
        episodes: int,
        label: Labeller = None,
        *,
        run: str = "train",
        seed: int | None = None,
        wait: Wait | None = None,
        progress: bool = True,
    ) -> Training:
        """Play and label episodes of a Gymnasium environment, until a run has ``episodes`` of them.

        ``label`` is a function of the episode (`plaudit.gym.Rollout`) that returns True, False, or
        None to leave it to people; "human" waits for the people at the desk; None leaves all
        labels for later. A call that was stopped is continued by the same call: it plays what is
        left of the ``run``. A vector environment steps all its environments in one call.
        """
        from plaudit.gym.train import train

        if callable(label):
            self._label = label
        return train(self, env, episodes, label, run=run, seed=seed, wait=wait, progress=progress)

    def evaluate(
        self,
        env: gymnasium.Env[Any, Any],
        episodes: int = 100,
        label: LabelFunction | None = None,
        *,
        seed: int | None = None,
    ) -> Evaluation:
        """Play episodes in the mode "evaluate", and count the successes.

        ``label`` judges an episode; by default the function that `train` was given. The results
        are kept on the server, apart from the model: nothing is learned from these episodes, and
        none waits for a label.
        """
        from plaudit.gym.evaluate import evaluate

        return evaluate(self, env, episodes, label or self._label, seed)

    def offline(
        self,
        folder: str | os.PathLike[str],
        *,
        fallback: object = None,
        mode: Literal["learn", "exploit"] = "learn",
        most_bytes: int = 100_000_000,
    ) -> OfflineAgent:
        """The agent without a network: it acts with a policy that ``folder`` keeps.

        Finished episodes are stored in the folder; `sync` uploads each exactly once and fetches
        the newest policy. While there is no policy every action is the ``fallback``.
        """
        from plaudit.offline.agent import OfflineAgent
        from plaudit.offline.spool import Spool

        agent = OfflineAgent(self._session, self.id, Spool(folder, most_bytes), fallback, mode)
        agent.sync()
        return agent


class AsyncAgent(AgentCalls[AsyncEpisode], Asynchronous):
    """An agent that lives on a server, with calls that are awaited."""

    _session: AsyncSession

    def __init__(self, session: AsyncSession, view: AgentView) -> None:
        super().__init__(view)
        self._session = session

    def _episode(self, start: Start) -> AsyncEpisode:
        return AsyncEpisode(self._session, start)
