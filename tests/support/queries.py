"""Count the queries that a server in this process sends to its database."""

from contextlib import contextmanager

from sqlalchemy import Engine, event

_HOUSEKEEPING = ("label_due <=", "FROM keys")  # queries that the server repeats by the clock


@contextmanager
def recorded_queries():
    """The SELECT statements of every engine, without those of housekeeping."""
    statements = []

    def record(connection, cursor, statement, *_):
        is_query = statement.lstrip().upper().startswith(("SELECT", "WITH"))
        if is_query and not any(words in statement for words in _HOUSEKEEPING):
            statements.append(statement)

    event.listen(Engine, "before_cursor_execute", record)
    try:
        yield statements
    finally:
        event.remove(Engine, "before_cursor_execute", record)
