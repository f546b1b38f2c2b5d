"""SQLite: engines, the file lock, inserts of many steps, backup and restore."""
