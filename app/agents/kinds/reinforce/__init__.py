"""`reinforce`: the paper's experiment, a network trained by policy gradients on observations."""
