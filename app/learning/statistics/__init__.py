"""Statistics of labels: forecasts, agreement of labellers, intervals."""
