"""The logistic model of labels: data, loss, solver, estimate, posterior."""
