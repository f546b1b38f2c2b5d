"""The pages: a labelling desk and dashboards, rendered here, with small modules of JavaScript."""
