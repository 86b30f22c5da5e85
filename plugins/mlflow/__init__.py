"""Sends runs to MLflow."""
