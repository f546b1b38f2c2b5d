"""Commands: every change of the database, by noun. Nothing else writes."""
