"""An agent away from the network: it acts here, and uploads episodes when the server is back."""

from __future__ import annotations

import time
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Literal

from plaudit._core.flow import token
from plaudit._core.session import BlockingSession
from plaudit._core.values import plain
from plaudit.answers.episodes import EpisodeSummary
from plaudit.answers.insight import PolicyView
from plaudit.answers.values import Action
from plaudit.endpoints import episodes, fleets, insights, labels
from plaudit.errors import ConnectionFailed, InvalidArgument, NoPolicy
from plaudit.offline.player import Player, Playing
from plaudit.offline.spool import Spool
from plaudit.problems import (
    APIError,
    Forbidden,
    NotFound,
    RateLimited,
    ServerError,
    Unauthenticated,
)

SENT = "sent"  # marks an episode whose upload was tried before


@dataclass(frozen=True)
class Synced:
    """What a call of `sync` did."""

    online: bool
    """Whether the server answered."""
    policy_version: int | None
    """The version of the policy that is used from now on; None if there is none yet."""
    uploaded: int
    """Episodes that the server has stored now."""
    waiting: int
    """Episodes that still wait in the folder."""
    rejected: int
    """Episodes that the server refused; they lie in the subfolder `rejected` with the reason."""


class OfflineAgent:
    """Acts with the policy that the folder keeps. `sync` talks to the server, nothing else does."""

    def __init__(
        self,
        session: BlockingSession,
        agent: str | None,
        spool: Spool,
        fallback: object = None,
        mode: Literal["learn", "exploit"] = "learn",
    ) -> None:
        self._session = session
        self._spool = spool
        self._fallback = plain(fallback, "fallback")
        self._mode: Literal["learn", "exploit"] = mode
        if agent is not None:
            spool.bind(agent)
        known = spool.agent()
        if known is None:
            raise InvalidArgument(
                f"The folder {spool.folder} belongs to no agent yet. Call agent.offline(folder) "
                "once while the server can be reached."
            )
        self.id = known
        self._policy: PolicyView | None = None
        self._begun = 0
        self._player: Player | None = None
        kept = spool.policy()
        if kept is not None:
            self._use(*kept)

    @property
    def policy_version(self) -> int | None:
        """The version of the policy that is kept; None if there is none yet."""
        return None if self._policy is None else self._policy.policy_version

    @property
    def waiting(self) -> list[str]:
        """The names of the episodes that are not uploaded yet, oldest first."""
        return self._spool.waiting()

    def sync(self, patience: float = 0.0) -> Synced:
        """Upload what waits, and fetch the policy if it changed.

        A server that cannot be reached is no error: the answer says so, and nothing is lost.
        ``patience`` is how many seconds to keep trying.
        """
        options = self._session.options.changed(None, patience)
        session = self._session.with_options(options)
        before, refused, online = len(self._spool.waiting()), len(self._spool.rejected()), True
        try:
            self._upload(session)
            self._fetch(session)
        except (ConnectionFailed, ServerError, RateLimited):
            online = False
        waiting, rejected = len(self._spool.waiting()), len(self._spool.rejected())
        uploaded = before - waiting - (rejected - refused)
        return Synced(online, self.policy_version, uploaded, waiting, rejected)

    def episode(self) -> OfflineEpisode:
        """An episode to act in. Use it in a `with` block: leaving early stores it as abandoned.

        Without a policy every action is the ``fallback``; without one this raises `NoPolicy`.
        """
        self._spool.check_room()
        if self._player is None:
            if self._fallback is None:
                raise NoPolicy(
                    "There is no policy in the folder, and no fallback action. Call sync() when "
                    "the server can be reached, or pass fallback=…"
                )
            return OfflineEpisode(self._spool, None, self._fallback)
        number = self._player.view.episode_number + self._begun
        self._begun += 1
        self._spool.keep_policy(self._player.view, self._begun)
        return OfflineEpisode(self._spool, self._player.play(number), None)

    def _use(self, policy: PolicyView, begun: int) -> None:
        self._player = Player(policy)
        self._policy, self._begun = policy, begun

    def _fetch(self, session: BlockingSession) -> None:
        known = self._policy
        found = session.run(insights.read_policy(self.id, mode=self._mode, known=known))
        if found is not known:
            self._use(found, 0)
            self._spool.keep_policy(found, 0)

    def _upload(self, session: BlockingSession) -> None:
        """Upload the episodes one by one; what the server refuses is put aside."""
        for name in self._spool.waiting():
            episode = self._spool.read(name)
            if episode is None:
                continue
            stored = self._stored(session, name) if episode.pop(SENT, False) else None
            self._spool.add(name, episode | {SENT: True})
            try:
                if stored is None:
                    session.run(
                        fleets.import_trajectories(self.id, [episode], idempotency_key=name)
                    )
                elif "label" in episode and stored.label is None:  # it was labelled meanwhile
                    session.run(labels.give_label(stored.id, episode["label"]))
            except (ServerError, RateLimited, Unauthenticated, Forbidden, NotFound):
                raise  # nothing is wrong with the episode
            except APIError as error:
                self._spool.reject(name, str(error))
            else:
                self._spool.remove(name)

    def _stored(self, session: BlockingSession, name: str) -> EpisodeSummary | None:
        """The episode on the server, if an earlier try stored it and its answer was lost.

        The server forgets idempotency keys after a while; the external id stays. A key of the role
        robot may not list episodes, and relies on the idempotency key alone.
        """
        try:
            found = session.iterate(episodes.list_episodes(self.id, external_id=name))
            return next(iter(found), None)
        except Forbidden:
            return None


class OfflineEpisode:
    """One episode that is played without the server, and stored in the folder at its end."""

    def __init__(self, spool: Spool, playing: Playing | None, fallback: Any) -> None:
        self._spool = spool
        self._playing = playing
        self._fallback = fallback
        self.id = f"{time.time_ns() // 1_000_000:013d}-{token(6)}"
        """The name of the episode, which becomes its external id on the server."""
        self._states: list[Any] = []
        self._actions: list[Any] = []
        self._terminated: bool | None = None
        self._label: object = None
        self._abandoned = False
        self._ended = False
        self._saved = False

    @property
    def over(self) -> bool:
        """Whether the episode takes no more steps."""
        return self._ended or (self._playing is not None and self._playing.over)

    @property
    def length(self) -> int:
        """How many steps were taken."""
        return len(self._actions)

    def act(self, state: object) -> Action:
        """The action to do now."""
        if self.over:
            raise InvalidArgument("The episode is over. Start another.")
        value = plain(state, "state")
        action = self._fallback if self._playing is None else self._playing.act(value)
        self._states.append(value)
        self._actions.append(action)
        return action

    def finish(self, state: object = None, *, terminated: bool | None = None) -> None:
        """End the episode in a state before its horizon, or say where the last step led."""
        if self._ended:
            raise InvalidArgument("The episode is finished already.")
        if state is not None:
            self._states.append(plain(state, "state"))
        if self._playing is None or not self._playing.over or terminated is not None:
            self._terminated = terminated is not False
        self._ended = True

    def label(self, label: object) -> None:
        """Label the episode: 1 or True is good, 0 or False is bad. It may be called later too."""
        if label not in (0, 1):
            raise InvalidArgument(f"The label is {label!r}. Give 1 or True, 0 or False.")
        if self._saved and self._spool.read(self.id) is None:
            raise InvalidArgument(
                f"Episode {self.id} was uploaded. Label it on the server, where this is its "
                "external id."
            )
        self._label = int(bool(label))
        if self._saved:
            self.save()

    def save(self) -> None:
        """Store the episode; leaving the `with` block does it."""
        if not self._actions:
            return
        trajectory = fleets.Trajectory(
            states=self._states,
            actions=self._actions,
            label=self._label,
            terminated=self._terminated,
            status="abandoned" if self._abandoned and self._label is None else None,
            external_id=self.id,
        )
        content = {
            name: value for name, value in vars(trajectory).items() if value not in (None, [])
        }
        earlier = self._spool.read(self.id) or {}
        self._spool.add(self.id, content | {SENT: earlier.get(SENT, False)})
        self._saved = True

    def __enter__(self) -> OfflineEpisode:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._abandoned = not self.over
        self._ended = True
        self.save()
