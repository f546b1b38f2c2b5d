"""`ucbvi_exact`: the paper's Algorithm 1 with an exact planner, for small problems."""
