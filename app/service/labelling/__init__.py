"""Labels: given, replaced, withdrawn, expired; and the labelling desk's queue."""
