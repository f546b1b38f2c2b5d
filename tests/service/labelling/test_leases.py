"""Leases: one holder at a time, and never for ever."""

import pytest

from app.service.labelling.leases import Leases


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def leases(clock):
    return Leases(10.0, clock)


def test_what_somebody_holds_nobody_else_gets(leases):
    assert leases.take("a", "Ada")
    assert not leases.take("a", "Bob")
    assert not leases.is_free("a", "Bob")
    assert leases.is_free("a", "Ada")
    assert leases.take("b", "Bob")


def test_it_can_be_given_back_by_its_holder_only(leases):
    leases.take("a", "Ada")
    leases.release("a", "Bob")
    assert not leases.take("a", "Bob")
    leases.release("a", "Ada")
    assert leases.take("a", "Bob")


def test_it_ends_by_itself(leases, clock):
    leases.take("a", "Ada")
    clock.now = 9.9
    assert not leases.take("a", "Bob")
    clock.now = 10.0
    assert leases.take("a", "Bob")
    assert not leases.take("a", "Ada")


def test_who_renews_it_keeps_it(leases, clock):
    leases.take("a", "Ada")
    for clock.now in (8.0, 16.0, 24.0):
        assert leases.take("a", "Ada")
    clock.now = 33.9
    assert not leases.is_free("a", "Bob")


def test_who_leaves_gives_everything_back(leases):
    for thing in ("a", "b"):
        leases.take(thing, "Ada")
    leases.take("c", "Bob")
    leases.release_all("Ada")
    assert [leases.is_free(thing, "Cyd") for thing in "abc"] == [True, True, False]


def test_old_ones_are_forgotten_and_others_are_not(leases, clock):
    leases.take("a", "Ada")
    clock.now = 5.0
    leases.take("b", "Bob")
    clock.now = 12.0
    leases.drop_old()
    assert leases.is_free("a", "Bob")
    assert not leases.is_free("b", "Ada")
