"""Metrics of answers: accuracy, calibration, correlations, entities, and SQuAD's exact match and F1."""
