"""What holds the running service together: container, cache, commits, events."""
