"""Who may do what: keys, roles, browser sessions, idempotent retries."""
