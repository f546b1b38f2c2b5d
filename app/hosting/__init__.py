"""Where storage and agents meet: episodes' life, pinned policies, learning jobs."""
