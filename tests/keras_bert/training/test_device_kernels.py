"""Checks without a GPU that a training step can run on one: kernels and XLA lowering."""

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.framework import types_pb2
from tensorflow.python.framework import kernels

from keras_bert.models.encoder import input_names
from keras_bert.objectives.tasks import ClassificationObjective
from keras_bert.options.training import Training
from keras_bert.tasks.classification import build_classifier
from keras_bert.training.step import TrainingStep
from tests.keras_bert.interop.test_families import FILES, read_model, unpack
from tests.keras_bert.training.small import small_classifier

GPU = ("GPU", "DEFAULT")
MODELS = [file for file in FILES if file.stem.endswith("Model")]


def nodes_of(concrete):
    """The nodes of a function and of all functions that it calls, including gradients."""
    graph = concrete.graph.as_graph_def()
    return [*graph.node, *(node for function in graph.library.function for node in function.node_def)]


def without_kernel(nodes):
    """Operations and types without a GPU kernel."""
    return {(node.op, *types_of(node)) for node in nodes if not any(map(node_fits(node), gpu_kernels(node.op)))}


def gpu_kernels(operation):
    registered = kernels.get_registered_kernels_for_op(operation).kernel
    return [kernel for kernel in registered if kernel.device_type in GPU]


def node_fits(node):
    def fits(kernel):
        return all(node.attr[one.name].type in one.allowed_values.list.type for one in kernel.constraint)

    return fits


def types_of(node):
    return sorted(
        f"{name}={types_pb2.DataType.Name(value.type)}" for name, value in node.attr.items() if value.HasField("type")
    )


def trace(model, batch, xla, precision="float32"):
    step = TrainingStep(model, ClassificationObjective(), Training(xla=xla, precision=precision), 4)
    return step._run_whole.get_concrete_function(batch)


def batch_for(model, length=16):
    ones = np.ones((4, length), "int32")
    return {**dict.fromkeys(input_names(model), ones), "padding_mask": ones, "label": np.zeros(4, "int32")}


@pytest.mark.long
@pytest.mark.parametrize("xla", ["off", "parts"])
@pytest.mark.parametrize("file", MODELS, ids=[file.stem for file in MODELS])
def test_no_operation_of_a_step_lacks_a_kernel_for_gpus(file, xla, tmp_path):
    folder, _ = unpack(file, tmp_path / "theirs")
    model = build_classifier(read_model(folder), 2, pooling="mean")
    for precision in ("float32", "bfloat16"):
        nodes = nodes_of(trace(model, batch_for(model), xla, precision))
        assert {"MatMul", "ResourceGather"} & {node.op for node in nodes}
        assert without_kernel(nodes) == set()


def test_the_registry_names_kernels_of_gpus():
    """The wheel is built for CUDA even on machines without a GPU, and the check can fail."""
    assert tf.sysconfig.get_build_info()["is_cuda_build"]

    def strings(x):
        return tf.strings.length(tf.strings.as_string(x))

    nodes = nodes_of(tf.function(strings).get_concrete_function(tf.TensorSpec((2,), tf.int64)))
    assert {operation for operation, *_ in without_kernel(nodes)} == {"AsString", "StringLength"}


@pytest.mark.parametrize("platform", ["GPU", "TPU"])
def test_xla_lowers_both_passes_for_gpus(platform):
    """XLA can lower every operation for GPUs; compiling to a binary needs a GPU.

    The wheel has no XLA kernels for TPUs. Weights are arguments, as variables can only be lowered for local devices.
    """
    model, batch = small_classifier(0.1), batch_for(small_classifier(), 8)
    inputs = {name: batch[name] for name in input_names(model)}

    def differentiate(weights, others):
        with tf.GradientTape() as tape:
            tape.watch(weights)
            logits, _ = model.stateless_call(weights, others, inputs, training=True)
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(batch["label"], logits)
        return tape.gradient(losses, weights)

    values = [
        [tf.convert_to_tensor(weight.value) for weight in group]
        for group in (model.trainable_variables, model.non_trainable_variables)
    ]
    lower = tf.function(differentiate, jit_compile=True, autograph=False).experimental_get_compiler_ir(*values)
    if platform == "TPU":
        with pytest.raises(ValueError, match="XLA_TPU_JIT"):
            lower(stage="hlo", platform_name=platform)
        return
    text = lower(stage="hlo", platform_name=platform)
    assert text.startswith("HloModule")
    assert " dot(" in text
    with pytest.raises(ValueError, match="not supported on this device"):
        lower(stage="optimized_hlo", platform_name=platform)
