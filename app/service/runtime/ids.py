"""Public ids: opaque strings with a prefix, made of an agent's number and an episode's."""

from __future__ import annotations

import re
import secrets

from app.errors import NotFound

_LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"  # no i, l, o, u: nothing to misread
_WIDTH = 10  # letters, 5 bits each
_AGENT = re.compile(rf"agt_([{_LETTERS}]{{{_WIDTH}}})")
_EPISODE = re.compile(rf"eps_([{_LETTERS}]{{{_WIDTH}}})_(0|[1-9][0-9]{{0,9}})")
_VALUES = {letter: value for value, letter in enumerate(_LETTERS)}


def new_agent_number() -> int:
    """50 random bits: never used before, for all practical purposes."""
    return secrets.randbits(5 * _WIDTH)


def agent_id(agent: int) -> str:
    """The id of an agent."""
    return f"agt_{_letters(agent)}"


def episode_id(agent: int, number: int) -> str:
    """The id of an episode."""
    return f"eps_{_letters(agent)}_{number}"


def read_agent_id(text: str) -> int:
    """The agent that an id names."""
    match = _AGENT.fullmatch(text)
    if not match:
        raise NotFound("agent", text[:80])
    return _number(match[1])


def read_episode_id(text: str) -> tuple[int, int]:
    """The agent and the number of the episode that an id names."""
    match = _EPISODE.fullmatch(text)
    if not match or int(match[2]) >= 2**31:
        raise NotFound("episode", text[:80])
    return _number(match[1]), int(match[2])


def _letters(number: int) -> str:
    return "".join(_LETTERS[(number >> 5 * i) & 31] for i in reversed(range(_WIDTH)))


def _number(letters: str) -> int:
    number = 0
    for letter in letters:
        number = number << 5 | _VALUES[letter]
    return number
