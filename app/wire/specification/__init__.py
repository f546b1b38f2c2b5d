"""The parts of an agent's specification: states, actions, features, and how states are drawn."""
