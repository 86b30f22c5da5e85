"""What a student and a teacher might hold, and a loss of it asked with other values where there is padding."""

import numpy as np

from keras_bert.objectives.imitation.base import Needs, Read

MASK = np.array([[1, 1, 1, 1], [1, 1, 0, 0], [1, 0, 0, 0]], "float32")
NEEDS = Needs(), Needs()


def draw(*shape, seed):
    return np.random.default_rng(seed).normal(scale=1.5, size=shape).astype("float32")


def measure(loss, student, teacher):
    """The sum divided by its weight, after asking whether padding has a say in it."""
    mean = float(loss.distance(student, teacher, MASK)) / float(loss.weight(MASK))
    rubbish = [Read(*(_with_rubbish(part) for part in read)) for read in (student, teacher)]
    again = float(loss.distance(*rubbish, MASK)) / float(loss.weight(MASK))
    np.testing.assert_allclose(again, mean, rtol=1e-6)
    return mean


def _with_rubbish(part):
    if isinstance(part, dict):
        return {kind: [_rubbish(tensor) for tensor in tensors] for kind, tensors in part.items()}
    return [_rubbish(tensor) for tensor in part]


def _rubbish(tensor):
    """Other values where a token, or one of two, is padding; vectors of texts have none."""
    if tensor.ndim == 2:
        return tensor
    real = MASK[:, :, None] if tensor.ndim == 3 else MASK[:, None, :, None] * MASK[:, None, None, :]
    return np.where(real > 0, tensor, draw(*tensor.shape, seed=99))
