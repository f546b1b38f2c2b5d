"""PostgreSQL: engines, locks, and the insert of many steps. Needs the extra ``postgres``."""
