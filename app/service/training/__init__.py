"""Learning jobs: when agents learn, in which process, and how results are published."""
