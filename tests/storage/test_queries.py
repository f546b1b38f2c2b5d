"""What is asked often goes by an index, however much there is that it is not about."""

import pytest
from sqlalchemy import event

from app.storage import migrations
from app.storage.queries import episodes, labels
from app.storage.sqlite.engine import make_writing_engine

pytestmark = pytest.mark.sqlite


@pytest.fixture
def engine(tmp_path):
    engine = make_writing_engine(f"sqlite:///{tmp_path / 'plaudit.db'}")
    migrations.migrate(engine)
    yield engine
    engine.dispose()


def plan_of(engine, query, *arguments):
    """How the database goes about the last statement of a query."""
    asked = []
    with engine.connect() as connection:

        @event.listens_for(connection, "before_cursor_execute")
        def _note(connection, cursor, statement, parameters, *_):
            asked.append((statement, parameters))

        query(connection, *arguments)
        statement, parameters = asked[-1]
        rows = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)
        return "; ".join(row[3] for row in rows)


@pytest.mark.parametrize(
    ("query", "arguments", "index"),
    [
        (episodes.episodes_due, (0, 10), "episodes_due (status=? AND label_due<?)"),
        (
            labels.count_left,
            (frozenset({5}), "Ada"),
            "episodes_undecided (agent=? AND cannot_tell>?)",
        ),
        (labels.count_left, (None, "Ada"), "episodes_undecided"),
        (
            labels.oldest_left,
            (frozenset({5}), "Ada", 10),
            "episodes_agent_status_number (agent=? AND status",
        ),
        (labels.oldest_left, (None, "Ada", 10), "episodes_status_position (status=?)"),
        (labels.judged_by, ("Ada", [(5, 1)]), "labels_agent_episode (agent=? AND episode=?)"),
    ],
)
def test_an_index_answers(engine, query, arguments, index):
    plan = plan_of(engine, query, *arguments)
    assert f" INDEX ix_{index}" in plan
    assert "TEMP B-TREE" not in plan
