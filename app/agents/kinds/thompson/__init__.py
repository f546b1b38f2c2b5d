"""`thompson`, the default kind: posterior sampling."""
