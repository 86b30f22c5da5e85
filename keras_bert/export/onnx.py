"""Export of a Keras model as a float32 `.onnx` file for any batch and any length."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import keras
import tensorflow as tf

from keras_bert.core.folders import LOGITS
from keras_bert.export.onnx_fusions import fuse_operations
from keras_bert.export.onnx_graphs import make_canonical
from keras_bert.export.runtimes import name_outputs
from keras_bert.models.encoder import input_names
from keras_bert.models.first_token import skip_unused_tokens

if TYPE_CHECKING:
    import onnx

# The newest operator set that tf2onnx writes.
OPSET = 18


def export_onnx(model: keras.Model, path: str | os.PathLike[str], *, output: str = LOGITS, opset: int = OPSET) -> None:
    """Writes a model with an output, or outputs by name, as a float32 `.onnx` file; equal models give equal bytes.

    The inputs of the graph are `token_ids`, `segment_ids` (if the model has them) and `padding_mask`, int32 (batch,
    length). Its output is float32 and has the shape of the model's output, such as (batch, labels). The last block
    computes only the tokens that the model uses, see `skip_unused_tokens`.

    Examples:
        >>> from keras_bert.export.runtimes import open_file
        >>> export_onnx(task.network(), "model.onnx")
        >>> open_file("model.onnx", max_length=16).predict_on_batch(task.encode(["film film"])).shape
        (1, 2)
    """
    inputs = dict.fromkeys(input_names(model), tf.int32)
    model = skip_unused_tokens(model)
    write_onnx(make_onnx(lambda values: name_outputs(model(values, training=False), output), inputs, opset), path)


def make_onnx(
    serve: Callable[[dict[str, tf.Tensor]], dict[str, tf.Tensor]], inputs: Mapping[str, tf.DType], opset: int
) -> "onnx.ModelProto":
    """Converts a function to an ONNX graph that passes ONNX' checker; equal functions give equal graphs.

    The function maps inputs by name (batch, length), whose types are `inputs`, to outputs by name.
    """
    import onnx
    import tf2onnx

    # Else tf2onnx copies the whole graph with its weights before each of its passes, and leaves out a pass that fails.
    os.environ.setdefault("TF2ONNX_CATCH_ERRORS", "false")
    signature = [tf.TensorSpec((None, None), kind, name=name) for name, kind in inputs.items()]

    @tf.function(input_signature=signature, autograph=False)
    def traced(*values: tf.Tensor) -> dict[str, tf.Tensor]:
        return serve(dict(zip(inputs, values, strict=True)))

    proto, _ = tf2onnx.convert.from_function(traced, input_signature=signature, opset=opset)
    fuse_operations(proto.graph, opset)
    make_canonical(proto.graph)
    onnx.checker.check_model(proto)
    return proto


def write_onnx(model: "onnx.ModelProto", path: str | os.PathLike[str]) -> None:
    """Writes a graph as `.onnx`; equal graphs give equal bytes."""
    Path(path).write_bytes(model.SerializeToString(deterministic=True))
