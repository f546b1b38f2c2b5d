"""Planners: the best history-dependent policy of a learned model, with certified bounds."""
