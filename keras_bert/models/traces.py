"""Compiled steps, which keep what they were traced with."""

import keras


def forget_traces(model: keras.Model) -> None:
    """Makes `fit`, `evaluate` and `predict` trace the model again: a part of it was opened, added or taken away."""
    model.train_function = model.test_function = model.predict_function = None
