"""Compares an exported file with its model."""

import contextlib
from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
from scipy.special import expit, softmax

from keras_bert.compress.quantization_parameters import QuantizationParameters, quantized_activations
from keras_bert.core.row_limits import limit_batch_size
from keras_bert.export.check import (
    UNTRAINED_AGREEMENT,
    check_agreement,
    check_parity,
    expected_agreement,
    parity_tolerance,
)
from keras_bert.export.files import ExportedFile, count_bytes
from keras_bert.export.inputs import ComparisonRows, ExportInputs, needs_calibration_rows
from keras_bert.export.rules.lite_graphs import count_operations
from keras_bert.export.runtimes import PROBABILITIES, Array, count_tokens, logits_of, open_file
from keras_bert.models.encoder import config_of, input_names
from keras_bert.models.traces import expect_traces

# Smaller probabilities count as 0, in the file and in the model.
_LEAST_PROBABILITY = 1e-30


def compare_answers(
    source: ExportInputs, file: ExportedFile, sample: ComparisonRows, runtime: Any = None
) -> dict[str, Any]:
    """Compares a file that reads token ids with its model on sample rows; returns the measurements as plain values.

    Float files must have the model's outputs up to a tolerance. Quantized files must agree with the model as quantized
    in Keras, see `Task.agreement`, or with the float model if Keras has no such quantization. `runtime` runs a part of
    the file, whose operations are not counted; None opens the file.
    """
    path, task, mask = source.folder / file.name, source.task, sample.features["padding_mask"]
    counts = path.suffix == ".tflite" and runtime is None
    runtime = runtime or open_file(path, task.max_length)
    lengths = getattr(runtime, "lengths", mask.shape[1:])
    reference = predict_once(source, sample, lengths)
    answers = runtime.predict_on_batch(sample.features)
    outputs = next(iter(answers.values())) if isinstance(answers, dict) else answers
    has_probabilities = isinstance(answers, dict) and PROBABILITIES in answers
    if has_probabilities and task.independent_labels:
        outputs = logits_of(outputs, independent=True)
    elif has_probabilities:
        reference, outputs = _logarithms(softmax(reference, axis=-1)), _logarithms(outputs)
    if file.numbers in ("model", "static_int8") and source.quantization is not None:
        quantized = predict_once(source, sample, lengths, source.quantization)
        kept = task.agreement(reference, quantized, mask)
        # If all activations are integers, the file has quantization grids inside layers, which the Keras model has not.
        # Kernels of `static_int8` are rounded again.
        is_rounded_again = file.numbers == "static_int8" or needs_calibration_rows(source.recipe)
        bound = UNTRAINED_AGREEMENT if is_rounded_again else 1.0
        minimum = min(bound, sample.minimum_agreement, expected_agreement(kept))
        agreement = task.agreement(quantized, outputs, mask)
        measured = {
            "agreement_with_rounded_model": check_agreement(file.name, agreement, outputs, minimum),
            "agreement_with_float_model": float(task.agreement(reference, outputs, mask).mean()),
            "agreement_of_rounded_and_float_model": float(kept.mean()),
        }
    elif file.numbers == "dynamic_int8":
        agreement = task.agreement(reference, outputs, mask)
        measured = {"agreement_with_float_model": check_agreement(file.name, agreement, outputs, UNTRAINED_AGREEMENT)}
    else:
        if has_probabilities and task.independent_labels:
            # Near a probability of 1, float32 cannot tell large logits apart.
            reference, outputs = expit(reference), expit(outputs)
        tolerance = parity_tolerance(reference, mask, half=file.numbers == "float16")
        difference = check_parity(file.name, reference, outputs, tolerance, mask)
        measured = {"largest_difference": float(f"{difference:.1e}")}
    operations = {"operations": count_operations(path)} if counts else {}
    return {**measured, "bytes": count_bytes(path), "rows_compared": len(mask), **operations}


def _logarithms(probabilities: Array) -> Array:
    return np.log(np.maximum(probabilities, _LEAST_PROBABILITY))


def predict_once(
    source: ExportInputs,
    sample: ComparisonRows,
    lengths: Sequence[int],
    quantization: QuantizationParameters | None = None,
) -> Array:
    """See `predict_as_padded`; files that are compared on the same rows share the outputs of the model.

    With `quantization` the activations are quantized in Keras.
    """
    network = source.task.network()
    key = quantization is not None, tuple(lengths) if _depends_on_padding(network) else ()
    if key not in sample.answers:
        with contextlib.nullcontext() if quantization is None else quantized_activations(network, quantization):
            sample.answers[key] = predict_as_padded(network, sample.features, lengths)
    return sample.answers[key]


def predict_as_padded(network: keras.Model, features: dict[str, Array], lengths: Sequence[int]) -> Array:
    """Outputs (rows, ...) of a network with one output; if outputs depend on padding, rows are padded as in the file.

    Each row is padded to the shortest of the file's ascending lengths that it fits into. Outputs per token are as wide
    as the inputs, and 0 beyond the row's length in the file.
    """
    inputs = {name: features[name] for name in input_names(network)}
    if not _depends_on_padding(network):
        return _predict(network, inputs)
    mask = features["padding_mask"]
    places = np.searchsorted(np.array(lengths), [count_tokens(row) for row in mask])
    answers: Array | None = None
    for place in np.unique(places):
        rows, length = np.flatnonzero(places == place), lengths[place]
        padded = {name: _as_wide(value[rows], length) for name, value in inputs.items()}
        outputs = _predict(network, padded)
        if outputs.ndim == 3:
            outputs = _as_wide(outputs, mask.shape[1])
        if answers is None:
            answers = np.zeros((len(mask), *outputs.shape[1:]), outputs.dtype)
        answers[rows] = outputs
    assert answers is not None
    return answers


def _depends_on_padding(network: keras.Model) -> bool:
    variant = config_of(network).variant
    return variant is not None and variant.depends_on_padding


def _predict(network: keras.Model, inputs: dict[str, Array]) -> Array:
    rows = limit_batch_size(32, inputs["padding_mask"].shape[1])
    expect_traces(network)
    return np.asarray(network.predict(inputs, batch_size=rows, verbose=0))


def _as_wide(value: Array, width: int) -> Array:
    """Truncates values (rows, length, ...) to (rows, width, ...), or pads them with 0."""
    cut = value[:, :width]
    return np.pad(cut, [(0, 0), (0, width - cut.shape[1]), *((0, 0) for _ in value.shape[2:])])
