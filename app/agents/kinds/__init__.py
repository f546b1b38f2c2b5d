"""The agent kinds: one folder each, with its options and its agent."""
