"""The planner that serves: logit space, one accumulator on a grid, compiled kernels."""
