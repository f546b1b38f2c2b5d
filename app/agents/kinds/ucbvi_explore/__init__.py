"""`ucbvi_explore`: the paper's Algorithms 2 and 3."""
