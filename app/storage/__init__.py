"""The database and blob storage: tables, commands, queries, and the group-commit writer."""
