"""What every route shares: the gate, authentication, idempotency, problems, OpenAPI."""
