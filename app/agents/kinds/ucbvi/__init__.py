"""`ucbvi`: optimism with a sum-decomposable bonus, planned by the fast planner."""
