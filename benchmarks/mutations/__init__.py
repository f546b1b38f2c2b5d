"""Mutation testing of the paper's formulas: break each constant and operator, see who notices."""
