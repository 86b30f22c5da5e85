"""Builds, saves and loads Keras models: encoders, and encoders with the heads of pre-training."""
