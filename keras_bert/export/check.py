"""Checks that an exported file has the outputs of its model; a difference raises an error."""

import math
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

# Float32 sums in another order: 1e-6 measured on logits of up to 10.
FLOAT32_TOLERANCE = 1e-4
# The tolerance as a share of larger outputs, such as predicted prices: float32 has 24 bits at any size.
FLOAT32_SHARE = 1e-5
# The tolerance in float16, as a share of the largest output: it has 11 bits, and each sum is rounded.
FLOAT16_SHARE = 0.02
# The least mean agreement of files with quantization grids that the model was not trained for.
UNTRAINED_AGREEMENT = 0.95


class ParityError(AssertionError):
    """The outputs of an exported file differ from those of its model.

    Examples:
        >>> check_parity("model.tflite", np.zeros((1, 2)), np.ones((1, 2)), tolerance=0.5)
        Traceback (most recent call last):
        ...
        keras_bert.export.check.ParityError: model.tflite must differ by at most 0.5 from its reference, got 1 ...
    """


def parity_tolerance(reference: Array, padding_mask: Array, *, half: bool) -> float:
    """Returns the largest absolute difference that a file's outputs may have from the model's (rows, ...).

    In float32 outputs of up to 10 may differ by `FLOAT32_TOLERANCE`, larger ones by a share of their size; `half` is
    for files that compute in float16. Outputs (rows, length, ...) at padding do not count.
    """
    counted = reference[padding_mask == 1] if reference.ndim == 3 else reference
    size = float(np.abs(counted).max())
    return FLOAT16_SHARE * size if half else max(FLOAT32_TOLERANCE, FLOAT32_SHARE * size)


def check_parity(
    name: str, reference: Array, candidate: Array, tolerance: float, padding_mask: Array | None = None
) -> float:
    """Compares outputs (rows, ...) and returns the largest absolute difference.

    Outputs (rows, length, ...) at padding, where `padding_mask` is 0, do not count; `name` is for the message.

    Examples:
        >>> check_parity("model.tflite", np.zeros((1, 2)), np.full((1, 2), 0.25), tolerance=0.5)
        0.25
    """
    if reference.shape != candidate.shape or reference.ndim < 2 or not reference.size:
        shapes = f"{candidate.shape} against {reference.shape}"
        raise ParityError(f"{name} must answer (rows, ...) like its reference, got {shapes}")
    differences = np.abs(np.asarray(reference, np.float64) - np.asarray(candidate, np.float64))
    # NaN compares false with everything: it must not pass for a small difference.
    differences = np.where(np.isnan(differences), np.inf, differences)
    if reference.ndim == 3 and padding_mask is not None:
        differences = np.where(padding_mask[:, :, None] == 1, differences, 0)
    place = np.unravel_index(int(differences.argmax()), differences.shape)
    largest = float(differences[place])
    if largest > tolerance:
        raise ParityError(
            f"{name} must differ by at most {tolerance} from its reference, got {largest:.6g} in row {place[0]}: "
            f"{candidate[place[:-1]].tolist()} where {reference[place[:-1]].tolist()} was expected"
        )
    return largest


def expected_agreement(agreement: Array) -> float:
    """Returns the least mean agreement to expect between two quantized copies of a model.

    A file and the quantized model in Keras add in another order. A last bit that moves one activation by a step moves
    later ones, so that after some layers the errors of both are of the same size and independent: they differ from each
    other by sqrt(2) times as much as each from the float model, and so do, while few of them do, their answers.
    Measured with 6 layers in `weights_wi4` on 200 rows of SQuAD, root mean square of the logits' differences: quantized
    model and float model 0.039, file and float model 0.035, file and quantized model 0.048. Three standard errors are
    allowed besides, as the rows are a sample, and half a row: of few rows all may agree by chance. It is below 0 where
    quantization changes many answers of few rows, which then say nothing about a file. The argument (rows,) is the
    agreement of the quantized model with the float model, see `Task.agreement`.
    """
    # Of the file's share less sqrt(2) times the model's: sqrt(2) times as many rows differ, and both are samples.
    agreement = np.append(agreement, 0.5)
    error = float(agreement.std()) * math.sqrt((2 + math.sqrt(2)) / agreement.size)
    return float(agreement.mean()) ** math.sqrt(2) - 3 * error


def check_agreement(name: str, agreement: Array, answers: Array, minimum: float) -> float:
    """Checks that a file agrees with its reference, and returns the mean agreement over the rows.

    It is for quantized files: another order of rounding moves single values by a quantization step, and the sum of
    these errors depends on the model. Therefore predictions are compared rather than outputs. The agreement (rows,) is
    that of `Task.agreement`; one row may always differ.
    """
    if agreement.shape != answers.shape[:1] or not agreement.size:
        raise ParityError(f"{name} must answer each row, got {answers.shape} against {agreement.shape}")
    finite = np.isfinite(answers).reshape(len(answers), -1).all(axis=1)
    if not finite.all():
        row = int(np.flatnonzero(~finite)[0])
        raise ParityError(f"{name} must answer with finite numbers, got others in row {row}")
    share = float(agreement.mean())
    # A single row near a tie may differ, however few the rows are. NaN compares false: it must not pass.
    if not (share >= minimum or (1 - agreement).sum() <= 1):
        row = int(agreement.argmin())
        raise ParityError(
            f"{name} must give the answers of its reference to at least {minimum:.4f} of the rows, got {share:.4f}; "
            f"least in row {row}: {agreement[row]:.4f}"
        )
    return share
