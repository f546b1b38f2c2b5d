"""The OpenAPI document: its text, the examples in it, and the responses that routes declare."""
