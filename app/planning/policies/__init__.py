"""The policies that planners return, and their registry."""
