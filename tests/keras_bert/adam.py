"""An optimizer for `fit` in tests."""

import keras


def adam(model: keras.Model, learning_rate: float) -> keras.optimizers.Optimizer:
    """Adam with its variables: where the first step makes them, TensorFlow traces it twice, which takes seconds."""
    optimizer = keras.optimizers.Adam(learning_rate)
    optimizer.build(model.trainable_variables)
    return optimizer
