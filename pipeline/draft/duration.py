"""The duration of a job that never ran, from the matrix products of its trainings and the speed of this machine."""

import time
from typing import NamedTuple

from keras_bert.processor import native_precision

# Kaplan et al. 2020, section 2.1: two operations for each weight and token forward, and four backward.
_FORWARD, _TRAINING = 2, 6
# A training step's products per second relative to one large float32 product in NumPy, a rough guess; the step also
# normalizes, drops and updates. With bfloat16 products are faster, all else is not.
_SHARE_OF_PEAK = {"float32": 0.45, "bfloat16": 0.75}
# Starting processes, tokenizing, and writing and measuring files, likewise.
_FIXED_SECONDS = 90.0
_SIZE, _TRIALS = 1024, 5


class EncoderSize(NamedTuple):
    """The sizes of an encoder that its time depends on."""

    layers: int
    hidden_size: int
    intermediate_size: int

    def flops(self, tokens: float) -> float:
        """Operations of a forward pass of one row: all kernels of a block, and the products of attention."""
        kernels = 4 * self.hidden_size**2 + 2 * self.hidden_size * self.intermediate_size
        attention = 2 * tokens * self.hidden_size
        return _FORWARD * self.layers * tokens * (kernels + attention)


class Workload(NamedTuple):
    """The trainings of a job: rows that pass through them, epochs included, and the mean tokens of a row."""

    tokens: float
    teacher: EncoderSize
    student: EncoderSize | None
    fine_tuning: float
    distillation: float
    quantization: float

    def flops(self) -> float:
        """Operations of all trainings; distillation and quantization also run their teachers forward."""
        teacher = self.teacher.flops(self.tokens)
        last = (self.student or self.teacher).flops(self.tokens)
        trained = _TRAINING / _FORWARD
        return (
            self.fine_tuning * trained * teacher
            + self.distillation * (teacher + trained * last)
            + self.quantization * (1 + trained) * last
        )


def estimate_seconds(workload: Workload) -> float:
    """The seconds of a job on this machine's processor if nothing else runs; a rough guess."""
    return _FIXED_SECONDS + workload.flops() / (_SHARE_OF_PEAK[native_precision()] * measure_speed())


def measure_speed() -> float:
    """Operations per second of the best of a few float32 matrix products in NumPy; takes a tenth of a second."""
    import numpy as np

    matrix = np.ones((_SIZE, _SIZE), np.float32)
    seconds = []
    for _ in range(_TRIALS):
        start = time.perf_counter()
        matrix @ matrix
        seconds.append(time.perf_counter() - start)
    return 2 * _SIZE**3 / min(seconds)
