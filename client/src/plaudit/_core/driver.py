"""Driving a generator of effects: perform what it yields, send the answer, until it returns."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from typing import Generic, TypeVar

A = TypeVar("A")
E = TypeVar("E")
R = TypeVar("R")


class Driver(Generic[E, A, R]):
    """A generator, the effect that it waits for, and what it returned.

    A coroutine must not raise StopIteration, so that the end of the generator becomes a flag.
    """

    effect: E
    result: R

    def __init__(self, work: Generator[E, A, R]) -> None:
        self._work = work
        self.done = False
        self._advance(lambda: next(work))

    def answer(self, answered: A) -> None:
        """Send the answer to the effect."""
        self._advance(lambda: self._work.send(answered))

    def fail(self, error: Exception) -> None:
        """Raise in the generator what the effect ended in."""
        self._advance(lambda: self._work.throw(error))

    def step(self, perform: Callable[[E], A]) -> None:
        """Perform the effect, and send its answer or its error."""
        try:
            answered = perform(self.effect)
        except Exception as error:
            self.fail(error)
        else:
            self.answer(answered)

    async def step_async(self, perform: Callable[[E], Awaitable[A]]) -> None:
        """Perform the effect, and send its answer or its error."""
        try:
            answered = await perform(self.effect)
        except Exception as error:
            self.fail(error)
        else:
            self.answer(answered)

    def _advance(self, resume: Callable[[], E]) -> None:
        try:
            self.effect = resume()
        except StopIteration as done:
            self.done, self.result = True, done.value


def drive(work: Generator[E, A, R], perform: Callable[[E], A]) -> R:
    """What a generator returns; ``perform`` answers what it yields."""
    driver = Driver(work)
    while not driver.done:
        driver.step(perform)
    return driver.result


async def drive_async(work: Generator[E, A, R], perform: Callable[[E], Awaitable[A]]) -> R:
    """What a generator returns; ``perform`` answers what it yields."""
    driver = Driver(work)
    while not driver.done:
        await driver.step_async(perform)
    return driver.result
