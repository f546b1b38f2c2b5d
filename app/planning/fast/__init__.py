"""The fast planner, used for serving: logit space, one accumulator on a grid, compiled kernels."""
