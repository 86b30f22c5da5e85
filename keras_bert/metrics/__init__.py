"""Metrics of predictions: accuracy, calibration, correlations, entity F1, and SQuAD's exact match and F1."""
