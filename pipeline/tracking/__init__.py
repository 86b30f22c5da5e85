"""Sends runs to tracking stores such as MLflow."""
