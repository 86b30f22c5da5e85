"""Pruning as a step: what is zero stays zero, through training with rounding and in the files."""

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest

from components.artifacts.standard import EdgeModel, Model
from components.export_model import export_model
from components.prune import prune
from components.quantize import quantize
from components.training.model_folder import read_model
from keras_bert.options.compression import Pruning
from keras_bert.options.export import Export
from keras_bert.options.tables import PruningSettings, QuantizationSettings
from keras_bert.training.masks import Masks
from tests.components.tuning_job import QUANTIZATION, TRAINING, Line, eagerly, table
from tests.samples import long_but

Lines = Callable[[str], Line]
FEW = dataclasses.replace(TRAINING, steps=4, learning_rate=1e-3)


def zeros(model):
    """Of each kernel its transposed zeros, as a file has them."""
    kernels = Masks(read_model(model).network()).kernels
    return {path: np.asarray(layer.kernel).T == 0 for path, layer in kernels.items()}


def tensors_of(file):
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(model_path=str(file))
    tensors = []
    for detail in interpreter.get_tensor_details():
        try:
            tensors.append(np.array(interpreter.get_tensor(detail["index"])))
        except ValueError:  # no constant
            continue
    return tensors


@pytest.mark.parametrize("pattern", long_but(["2:4"], ["unstructured", "2:4"]))
def test_pruned_weights_stay_zero_to_the_end(line, tmp_path, pattern):
    artifacts = line("classification")
    pruned, quantized = Model(tmp_path / "pruned"), Model(tmp_path / "quantized")
    settings = Pruning(sparsity=0.5, pattern=pattern)
    student, given = artifacts.student, {"examples": artifacts.examples}
    with eagerly():
        prune.run(**given, student=student, pruned=pruned, pruning=table(PruningSettings, FEW, settings))
        quantize.run(
            **given, student=pruned, quantized=quantized, quantization=table(QuantizationSettings, FEW, QUANTIZATION)
        )
    assert pruned.counts["sparsity"] == 0.5
    before, after = zeros(pruned), zeros(quantized)
    assert len(before) == 6
    for path, zero in before.items():
        assert zero.mean() == pytest.approx(0.5, abs=0.01)
        # A small weight may be rounded to zero, too.
        assert after[path][zero].all()
    # It was trained in between.
    assert not np.array_equal(
        *(read_model(folder).model.get_layer("classifier").kernel for folder in (pruned, quantized))
    )
    edge = EdgeModel(tmp_path / "edge")
    export_model.run(
        model=quantized, examples=artifacts.examples, edge=edge, export=Export(lengths=(), runtimes=("tflite",))
    )
    integers = [tensor for tensor in tensors_of(edge.file("model.tflite")) if tensor.dtype == np.int8]
    for zero in after.values():
        # Query, key and value may have become one matrix.
        assert any(_holds(tensor, zero) for tensor in integers)


def _holds(tensor, zero):
    return tensor.ndim == 2 and any(
        np.array_equal(tensor[start : start + len(zero)] == 0, zero)
        for start in range(0, len(tensor) - len(zero) + 1, len(zero))
        if tensor.shape[1] == zero.shape[1]
    )
