"""Random generators: their seeds, and their states in a model."""

import contextlib
import random
from collections.abc import Iterator
from typing import Any

import keras
import numpy as np
import tensorflow as tf


def make_deterministic(seed: int) -> None:
    """Seeds all random generators of this process and makes operations deterministic; call it before model building."""
    keras.utils.set_random_seed(seed)
    tf.config.experimental.enable_op_determinism()


@contextlib.contextmanager
def seeded_weights(seed: int) -> Iterator[None]:
    """Inside of the block, Keras draws the weights of new layers by a seed; other random numbers stay as they were."""
    state = random.getstate()
    random.seed(seed)
    try:
        yield
    finally:
        random.setstate(state)


def seed_dropout(model: keras.Model, seed: int) -> None:
    """Starts the random generators of a model's layers by a seed."""
    states = seed_states(model)
    for state, number in zip(states, np.random.default_rng(seed).integers(2**31, size=len(states)), strict=True):
        state.assign([number, 0])


def seed_states(model: keras.Model) -> list[Any]:
    """The states of a model's random generators, which Keras counts as variables, but not as weights."""
    weights = {id(weight) for weight in model.weights}
    return [variable for variable in model.variables if id(variable) not in weights]
