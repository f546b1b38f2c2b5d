"""Feature maps of whole trajectories: what a label may depend on."""
