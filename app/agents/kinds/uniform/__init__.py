"""`uniform`: every action with the same probability, the baseline."""
