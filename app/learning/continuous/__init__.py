"""Learning from observed numbers: scaling, smooth dynamics, nets of states, and label models.

Pure mathematics: arrays in, arrays out. Random functions take a generator.
"""
