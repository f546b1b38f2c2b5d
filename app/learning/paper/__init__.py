"""The quantities of the paper: confidence radii, regret bounds, EULER, coverage."""
