"""The policy network of `reinforce`, its gradient and its optimiser."""
