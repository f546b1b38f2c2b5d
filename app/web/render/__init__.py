"""How pages are rendered: templates, charts, wording, assets, security headers."""
