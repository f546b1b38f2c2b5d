"""Where everything is kept: tables, the group-commit writer, queries. The only place with SQL."""
