"""The benchmark of `smooth`: a short run learns, and the page shows the record."""

from app.agents import make_agent
from benchmarks.numbers import page
from benchmarks.numbers.__main__ import play, row_of, run, spec_of
from benchmarks.numbers.tasks import TASKS, cart_pole, mountain_car


def test_an_episode_depends_on_seed_and_number_alone():
    task = mountain_car()
    policy = make_agent(spec_of(task, 3)).plan(0).policy
    one, other = play(task, policy, 3, 5), play(task, policy, 3, 5)
    assert (one[0].observations == other[0].observations).all()
    assert one[0].observations.shape == (200, 2)


def test_it_learns_to_balance_for_a_short_while():
    found = run(cart_pole(50), seed=1, patience=25, after=10)
    assert found.labels is not None
    assert len(found.later) == 1
    assert found.later[0] >= 0.8
    assert row_of(found, 1)["mean_after"] == round(found.later[0], 4)


def test_the_page_shows_the_record():
    record = page.load_record()
    assert record
    assert set(record) <= {task.name for task in TASKS}
    assert page.render_table(record) in page.PAGE.read_text()
