"""Episodes: started, stepped, finished, imported, exported, recorded."""
