"""Read models: each loads what one response or page shows, as wire schemas or dataclasses."""
