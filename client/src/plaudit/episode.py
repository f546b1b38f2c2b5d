"""Episodes to act in: send states, get actions, label the result."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from types import TracebackType

from plaudit._core.calls import Asynchronous, Blocking, method
from plaudit._core.flow import Flow
from plaudit._core.session import AsyncSession, BlockingSession
from plaudit.answers.episodes import EpisodeSummary, EpisodeView, LabelAnswer, RecordingView
from plaudit.answers.steps import StepAnswer
from plaudit.answers.values import Action, Label, Status
from plaudit.endpoints import episodes, labels, recordings
from plaudit.endpoints.recordings import Content
from plaudit.errors import ConnectionFailed, InvalidArgument, PlauditError

log = logging.getLogger("plaudit")

_POLL_SECONDS = 0.5
Start = Callable[[], Flow[EpisodeSummary]]


class EpisodeCalls:
    """What blocking and async episodes share.

    An episode is started by its first act, or when its `with` block is entered. With the id of
    an ``episode`` it is that one, and continues behind its last step.
    """

    def __init__(self, start: Start | None = None, episode: str | None = None) -> None:
        self._start = start
        self._id = episode
        self._summary: EpisodeSummary | None = None
        self._status: Status = "running"
        self._label: Label | None = None
        self.length = 0
        self.answer: StepAnswer | None = None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._id or 'not started'}: {self._status}>"

    @property
    def id(self) -> str:
        """The id of the episode; it can be labelled by it from anywhere."""
        if self._id is None:
            raise InvalidArgument("The episode has not started, so it has no id. Call start().")
        return self._id

    @property
    def summary(self) -> EpisodeSummary:
        """The episode as the server last described it."""
        if self._summary is None:
            raise InvalidArgument("Nothing is known of the episode. Call start() or refresh().")
        return self._summary

    @property
    def status(self) -> Status:
        """Where the episode stands, by what this object did; `refresh` asks the server."""
        return self._status

    @property
    def over(self) -> bool:
        """Whether the episode takes no more steps."""
        return self._status != "running"

    @property
    def given_label(self) -> Label | None:
        """The label of the episode, as far as this object knows."""
        return self._label

    @method
    def start(self) -> Flow[EpisodeSummary]:
        """Start the episode, or read the one that the id names, if that was not done before."""
        return (yield from self._started())

    @method
    def act(
        self,
        state: object,
        *,
        explain: bool = False,
        action: object = None,
        executed: object = None,
        allowed: object = None,
    ) -> Flow[Action]:
        """Send the state, get the action to do now.

        Steps are numbered, so that a lost answer is asked for again and nothing is recorded
        twice. ``explain=True`` leaves why in ``answer.explanation``. With ``action`` you act
        yourself and the server records it; ``executed`` is what was done in the step before,
        where it was not the answer. ``allowed`` are the actions that are possible now.
        """
        yield from self._started()
        if self.over:
            raise InvalidArgument(
                f"Episode {self.id} is over ({self._status}), so that it takes no more states. "
                "Label it, and start another."
            )
        answer = yield from episodes.take_step(
            self.id,
            state,
            self.length,
            explain=explain,
            action=action,
            executed=executed,
            allowed=allowed,
        )
        return self.took(answer)

    def took(self, answer: StepAnswer) -> Action:
        """Take in the answer to a step that was sent by other means, such as with many others."""
        self.answer, self.length = answer, answer.step + 1
        if answer.last:
            self._status = "awaiting_label" if self.summary.label_required else "completed"
        return answer.action

    @method
    def finish(
        self,
        state: object = None,
        *,
        terminated: bool | None = None,
        label: object = None,
        executed: object = None,
    ) -> Flow[EpisodeSummary]:
        """End the episode in a state before its horizon, or report where the last step led.

        ``terminated=False`` says that it was cut off there, not ended by the environment. A
        ``label`` is stored together with the end. ``executed`` is what was done in the last step,
        where it was not the answer.
        """
        yield from self._started()
        found = yield from episodes.finish_episode(
            self.id, state, terminated=terminated, label=label, executed=executed
        )
        return self.learn(found)

    @method
    def abandon(self) -> Flow[EpisodeSummary]:
        """Give the episode up: no label will come; its transitions still count."""
        yield from self._started()
        return self.learn((yield from episodes.abandon_episode(self.id)))

    @method
    def label(
        self,
        label: object,
        *,
        comment: str | None = None,
        labeller: str | None = None,
        reason: str | None = None,
    ) -> Flow[LabelAnswer]:
        """Label the episode: 1 or True is good, 0 or False is bad; or "cannot_tell", and why."""
        given = yield from labels.give_label(
            self.id, label, comment=comment, labeller=labeller, reason=reason
        )
        return self._judged(given)

    @method
    def replace_label(
        self,
        label: object,
        *,
        comment: str | None = None,
        labeller: str | None = None,
        reason: str | None = None,
    ) -> Flow[LabelAnswer]:
        """Replace the label."""
        given = yield from labels.replace_label(
            self.id, label, comment=comment, labeller=labeller, reason=reason
        )
        return self._judged(given)

    @method
    def withdraw_label(self, *, labeller: str | None = None) -> Flow[LabelAnswer]:
        """Withdraw the label."""
        return self._judged((yield from labels.withdraw_label(self.id, labeller=labeller)))

    @method
    def wait_for_label(self, seconds: float | None = None) -> Flow[Label | None]:
        """Wait for the label of the episode; None if it is abandoned, or the time is over."""
        deadline = None if seconds is None else time.monotonic() + seconds
        found = yield from episodes.read_episode(self.id)
        while found.status in ("running", "awaiting_label"):
            if deadline is not None and time.monotonic() >= deadline:
                return None
            found = yield from episodes.read_episode_after(_POLL_SECONDS, self.id)
        self.learn(found)
        return found.label

    @method
    def record(self, content: Content) -> Flow[RecordingView]:
        """Attach a picture or a video (bytes, or the path of a file) for those who judge."""
        return (yield from recordings.put_recording(self.id, content))

    @method
    def refresh(self) -> Flow[EpisodeView]:
        """Read the episode with its steps and labels."""
        found = yield from episodes.read_episode(self.id)
        self.learn(found)
        return found

    def _started(self) -> Flow[EpisodeSummary]:
        if self._summary is not None:
            return self._summary
        if self._id is not None:
            return self.learn((yield from episodes.read_episode(self._id)))
        if self._start is None:
            raise InvalidArgument("An episode needs an agent. Use agent.episode().")
        return self.learn((yield from self._start()))

    def learn(self, found: EpisodeSummary) -> EpisodeSummary:
        """Take in what the server said of the episode, asked by other means."""
        self._id, self._summary = found.id, found
        self._status, self._label, self.length = found.status, found.label, found.length
        return found

    def _judged(self, given: LabelAnswer) -> LabelAnswer:
        self._status, self._label = given.status, given.label
        return given

    def _leave(self, error: BaseException | None) -> Flow[None]:
        """Abandon the episode if it is left early.

        Without a server nothing can be abandoned: `client.episode(id)` continues it later.
        """
        if self._id is None or self.over or isinstance(error, ConnectionFailed):
            return
        try:
            self.learn((yield from episodes.abandon_episode(self._id)))
        except PlauditError as also:
            if error is None:
                raise
            log.info("episode %s was not abandoned: %s", self._id, also)


class Episode(EpisodeCalls, Blocking):
    """An episode to act in. Use it in a `with` block: leaving early abandons it."""

    def __init__(
        self,
        session: BlockingSession,
        start: Start | None = None,
        episode: str | None = None,
    ) -> None:
        super().__init__(start, episode)
        self._session = session

    def __enter__(self) -> Episode:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        session = self._session if error is None else self._session.impatient()
        session.run(self._leave(error))


class AsyncEpisode(EpisodeCalls, Asynchronous):
    """An episode to act in. Use it in an `async with` block: leaving early abandons it."""

    def __init__(
        self,
        session: AsyncSession,
        start: Start | None = None,
        episode: str | None = None,
    ) -> None:
        super().__init__(start, episode)
        self._session = session

    async def __aenter__(self) -> AsyncEpisode:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        session = self._session if error is None else self._session.impatient()
        await session.run(self._leave(error))
