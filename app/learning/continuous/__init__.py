"""Worlds seen as numbers: scaling, smooth dynamics, nets of visited states, and verdicts on them.

Pure mathematics: arrays in, arrays out. Randomness comes in as a generator.
"""
