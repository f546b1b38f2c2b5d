"""The HTTP contract: routes, wire schemas, keys, and problems."""
