"""The service: the only layer that decides, and with the CLI the only one that calls storage."""
