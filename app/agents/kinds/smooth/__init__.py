"""`smooth`: learns from tens of labels where observations are numbers that change smoothly."""
