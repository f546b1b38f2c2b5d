"""The spool: a folder that keeps the policy and the episodes that are not uploaded yet.

Every file is written under another name, synced and renamed, so that a crash leaves the old file or
the new one, never a part. An episode leaves the folder only after the server has stored it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from plaudit._core.parsing import parse
from plaudit.answers.insight import PolicyView
from plaudit.errors import InvalidArgument, SpoolFull

_POLICY, _AGENT = "policy.json", "agent.json"
_WAITING, _REJECTED = "waiting", "rejected"


class Spool:
    """A folder of one agent."""

    def __init__(self, folder: str | os.PathLike[str], most_bytes: int) -> None:
        self.folder = Path(folder)
        self.most_bytes = most_bytes
        for part in (_WAITING, _REJECTED):
            (self.folder / part).mkdir(parents=True, exist_ok=True)

    def agent(self) -> str | None:
        """The id of the agent that the folder belongs to."""
        stored = self._read(self.folder / _AGENT)
        return None if stored is None else str(stored["agent"])

    def bind(self, agent: str) -> None:
        """Make the folder that of an agent; a folder of another agent is refused."""
        known = self.agent()
        if known is None:
            self._write(self.folder / _AGENT, {"agent": agent})
        elif known != agent:
            raise InvalidArgument(
                f"The folder {self.folder} holds episodes of agent {known}. Give {agent} a folder "
                "of its own."
            )

    def policy(self) -> tuple[PolicyView, int] | None:
        """The policy that was kept, and how many episodes were begun with it."""
        stored = self._read(self.folder / _POLICY)
        if stored is None:
            return None
        return parse(PolicyView, stored["policy"]), int(stored["begun"])

    def keep_policy(self, policy: PolicyView, begun: int) -> None:
        """Keep a policy, and how many episodes were begun with it."""
        self._write(self.folder / _POLICY, {"policy": asdict(policy), "begun": begun})

    def add(self, name: str, episode: dict[str, Any]) -> None:
        """Store an episode, or store it again with its label."""
        self._write(self.folder / _WAITING / f"{name}.json", episode)

    def waiting(self) -> list[str]:
        """The names of the episodes that wait for the server, oldest first."""
        return sorted(path.stem for path in (self.folder / _WAITING).glob("*.json"))

    def read(self, name: str) -> dict[str, Any] | None:
        """An episode that waits; None if it was uploaded."""
        return self._read(self.folder / _WAITING / f"{name}.json")

    def remove(self, name: str) -> None:
        """Forget an episode that the server has stored."""
        (self.folder / _WAITING / f"{name}.json").unlink(missing_ok=True)

    def reject(self, name: str, reason: str) -> None:
        """Put an episode aside that the server refuses, with the reason; nothing is lost."""
        source = self.folder / _WAITING / f"{name}.json"
        self._write(self.folder / _REJECTED / f"{name}.reason.json", {"reason": reason})
        os.replace(source, self.folder / _REJECTED / f"{name}.json")

    def rejected(self) -> list[str]:
        """The names of the episodes that the server refused."""
        found = (self.folder / _REJECTED).glob("*.json")
        return sorted(path.stem for path in found if not path.stem.endswith(".reason"))

    def check_room(self) -> None:
        """Refuse another episode when the folder is full."""
        used = sum(size for _, size in self._sizes())
        if used >= self.most_bytes:
            raise SpoolFull(
                f"{self.folder} holds {used} bytes of episodes, and may hold {self.most_bytes}. "
                "Call sync() when the server can be reached, or give more most_bytes. No episode "
                "was lost."
            )

    def _sizes(self) -> Iterator[tuple[Path, int]]:
        for part in (_WAITING, _REJECTED):
            for path in (self.folder / part).iterdir():
                yield path, path.stat().st_size

    def _read(self, path: Path) -> dict[str, Any] | None:
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise InvalidArgument(f"{path} is not a file of this client: {error}") from error
        if not isinstance(found, dict):
            raise InvalidArgument(f"{path} is not a file of this client.")
        return found

    def _write(self, path: Path, content: dict[str, Any]) -> None:
        part = path.with_suffix(".part")
        try:
            with part.open("w", encoding="utf-8") as file:
                json.dump(content, file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, path)
            _sync_folder(path.parent)
        except OSError as error:
            part.unlink(missing_ok=True)
            raise SpoolFull(
                f"{path} cannot be written: {error.strerror}. Make room on the disk and call "
                "save() of the episode again; it is still in memory."
            ) from error


def _sync_folder(folder: Path) -> None:
    """Make a rename survive a power cut, where the system can."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
