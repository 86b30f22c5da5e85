"""Files of the search for wrong labels, which are corrupted."""

from plugins.label_errors.artifacts import HeldOutProbabilities, LabelDecisions
from tests.robustness.corruption.format import Format


def _write_probabilities(folder):
    import numpy as np

    numbers = np.arange(20)
    shares = np.full((20, 4), 0.25, np.float32)
    HeldOutProbabilities(folder).write(LabelDecisions(numbers, np.zeros_like(numbers), numbers % 4, shares))


def _read_probabilities(folder):
    HeldOutProbabilities(folder).read()


FORMATS = {"probabilities.npz": Format("probabilities.npz", _write_probabilities, _read_probabilities, (ValueError,))}
