"""Ids: opaque to clients, exact to the server."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import NotFound
from app.service.runtime.ids import (
    agent_id,
    episode_id,
    new_agent_number,
    read_agent_id,
    read_episode_id,
)

AGENTS = st.integers(0, 2**50 - 1)
EPISODES = st.integers(0, 2**31 - 1)


@given(AGENTS, EPISODES)
def test_an_id_is_read_back_to_what_it_names(agent, episode):
    assert read_agent_id(agent_id(agent)) == agent
    assert read_episode_id(episode_id(agent, episode)) == (agent, episode)


@given(AGENTS, AGENTS)
def test_agents_that_differ_have_ids_that_differ(one, other):
    assert (agent_id(one) == agent_id(other)) == (one == other)


@given(st.text())
def test_other_text_names_nothing(text):
    for read, prefix in ((read_agent_id, "agt_"), (read_episode_id, "eps_")):
        for given_text in (text, prefix + text):
            try:
                read(given_text)
            except NotFound:
                continue
            # What can be read is spelled in the one way there is.
            assert given_text.isascii()
            assert given_text == given_text.lower().strip()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "agt_",
        "agt_012345678",
        "agt_01234567890",
        "agt_0123456789\n",
        "AGT_0123456789",
        "agt_012345678i",  # read for 1
        "agt_012345678٣",
        "eps_0123456789_0",
    ],
)
def test_a_wrong_agent_id_is_not_found(text):
    with pytest.raises(NotFound):
        read_agent_id(text)


@pytest.mark.parametrize(
    "text",
    [
        "eps_0123456789",
        "eps_0123456789_",
        "eps_0123456789_01",  # the same episode must not have two names
        "eps_0123456789_-1",
        "eps_0123456789_+1",
        "eps_0123456789_1\n",
        "eps_0123456789_٣",
        "eps_0123456789_2147483648",
        "eps_0123456789_99999999999",
        "agt_0123456789_0",
    ],
)
def test_a_wrong_episode_id_is_not_found(text):
    with pytest.raises(NotFound):
        read_episode_id(text)


def test_new_numbers_do_not_repeat_and_fit_an_id():
    numbers = {new_agent_number() for _ in range(1000)}
    assert len(numbers) == 1000
    assert all(read_agent_id(agent_id(number)) == number for number in numbers)
