"""The mathematics of learning: pure functions of arrays, without files, network or database."""
