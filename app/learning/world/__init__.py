"""The learned world: transition counts and estimates, occupancy, rollouts."""
