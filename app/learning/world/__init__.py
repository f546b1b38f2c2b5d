"""The learned world: transition counts and models, policies in it, occupancy and rollouts."""
