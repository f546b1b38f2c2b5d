"""SQLite: engines, the lock on the file, the insert of many steps, backups."""
