"""The routes of the HTTP API, one file per resource."""
