"""SQLite: the engines, the group-commit writer and the journal of steps."""
