"""Builds, saves and loads Keras models: encoders and the heads of pre-training."""
