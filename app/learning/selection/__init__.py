"""Model selection: feature maps and priors compete by their evidence."""
