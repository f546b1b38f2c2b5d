"""The planner of the paper's own objective: reward space, two accumulators."""
