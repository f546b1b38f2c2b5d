"""Every query, by what it reads."""
