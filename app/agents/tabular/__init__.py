"""What kinds with numbered states share: a model of labels, counted transitions, and planning.

`ModelBased` is their base class, `Optimist` that of the UCBVI kinds.
"""
