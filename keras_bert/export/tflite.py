"""Exports a Keras model as a `.tflite` file with a signature for each length, with LiteRT's built-in operations."""

import contextlib
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import keras
import tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

from keras_bert.compress.ranges import fixed_ranges
from keras_bert.core.folders import LOGITS, temporary_folder
from keras_bert.export.lite_operands import protect_reshaped_tensors, simplify_operands
from keras_bert.export.lite_passes import (
    keep_head_float,
    simplify_lookups,
    simplify_slices,
    store_constants_as_integers,
)
from keras_bert.export.runtimes import SIGNATURE, TEXT_SIGNATURES, name_outputs
from keras_bert.export.sharing import read_model, write_model
from keras_bert.export.text_inputs import ENDS, STARTS, TextInputs
from keras_bert.models.encoder import input_names
from keras_bert.models.first_token import skip_unused_tokens


def export_tflite(
    model: keras.Model,
    path: str | os.PathLike[str],
    lengths: Sequence[int] = (32, 64, 128),
    ranges: Mapping[str, tuple[float, float]] | None = None,
    *,
    half: bool = False,
    output: str = LOGITS,
    text: TextInputs | None = None,
) -> None:
    """Writes a model with one output, or with outputs by name, as a `.tflite` file with a signature for each length.

    The inputs of the signatures `serve_32`, `serve_64`, ... are `token_ids`, `segment_ids` (if the model has them) and
    `padding_mask`, int32 (1, length). Their output is float32 and has the shape of the model's output, such as (1,
    labels). The signatures share their weights. The last block computes only the tokens that the model uses, see
    `skip_unused_tokens`. Ids must not be negative: LiteRT then raises an error.

    A file with text as input has the signatures `serve_text` and `serve_pair` instead. They truncate strings to the
    longest of the lengths, need operations of tensorflow-text, and also return the offsets that `text` describes.

    Args:
        model: a model with the inputs of an encoder and one output.
        path: the file to write.
        lengths: the length of each signature in tokens.
        ranges: the activation ranges that `QuantizationAware.finish` returned; kernels, tables and these
            activations become int8. None writes a float file.
        half: whether the weights are float16, except in the output layer of a regression.
        output: the name of the output.
        text: the tokenizer that becomes part of the graph; None for a file with token ids as inputs.

    Examples:
        >>> from keras_bert.export.runtimes import open_file
        >>> export_tflite(task.network(), "model.tflite", lengths=[8, 16])
        >>> open_file("model.tflite", max_length=16).lengths
        (8, 16)
    """
    if not lengths or len(set(lengths)) != len(lengths) or min(lengths) < 1:
        raise ValueError(f"lengths must be positive and differ, got {tuple(lengths)}")
    rounding = contextlib.nullcontext() if ranges is None else fixed_ranges(model, ranges)
    model = skip_unused_tokens(model)
    with rounding, temporary_folder() as folder:
        if text is None:
            signatures = {SIGNATURE.format(length=length): _freeze(model, length, output) for length in sorted(lengths)}
        else:
            signatures = {name: _freeze_text(model, text, name, max(lengths), output) for name in text.signatures}
        tf.saved_model.save(tf.Module(), folder, signatures=signatures)
        converter = tf.lite.TFLiteConverter.from_saved_model(folder, signature_keys=list(signatures))
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS]
        converter.allow_custom_ops = text is not None
        if ranges is not None:
            # Without a representative data set the converter writes int8 only where the graph has fake quantizations.
            converter.optimizations = [tf.lite.Optimize.DEFAULT]
        if half:
            converter.optimizations = [tf.lite.Optimize.DEFAULT]
            converter.target_spec.supported_types = [tf.float16]
        content = converter.convert()
    written = read_model(keep_head_float(content, model) if half else content)
    if ranges is not None:
        store_constants_as_integers(written, ranges)
    simplify_operands(written)
    simplify_lookups(written)
    simplify_slices(written)
    protect_reshaped_tensors(written)
    Path(path).write_bytes(write_model(written))


def _freeze(model: keras.Model, length: int, output: str) -> tf.types.experimental.ConcreteFunction:
    """Makes a signature of the model for one row of a fixed length."""
    specs = {name: tf.TensorSpec((1, length), tf.int32, name=name) for name in input_names(model)}
    return _serve(lambda inputs: name_outputs(model(inputs, training=False), output), specs)


def _freeze_text(
    model: keras.Model, text: TextInputs, signature: str, length: int, output: str
) -> tf.types.experimental.ConcreteFunction:
    """Makes a signature of the model for one text or pair, truncated to a number of tokens."""
    names, texts = input_names(model), TEXT_SIGNATURES[signature]

    def answer(inputs: Mapping[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        rows = text.rows(*(inputs[name] for name in texts), max_length=length)
        answered = {output: model({name: rows[name] for name in names}, training=False)}
        return answered | {name: rows[name] for name in (STARTS, ENDS) if name in rows}

    return _serve(answer, {name: tf.TensorSpec((1,), tf.string, name=name) for name in texts})


def _serve(
    answer: Callable[[dict[str, tf.Tensor]], dict[str, tf.Tensor]], specs: Mapping[str, tf.TensorSpec]
) -> tf.types.experimental.ConcreteFunction:
    """Makes a signature whose variables are constants.

    In a file with several signatures the converter would keep variables, and quantize none of them.
    """

    @tf.function(input_signature=list(specs.values()), autograph=False)
    def compute(*inputs: tf.Tensor) -> dict[str, tf.Tensor]:
        return answer(dict(zip(specs, inputs, strict=True)))

    concrete = compute.get_concrete_function()
    # A function without variables returns a list, in the order of the names.
    names, frozen = sorted(concrete.structured_outputs), convert_variables_to_constants_v2(concrete)

    @tf.function(autograph=False)
    def serve(**inputs: tf.Tensor) -> dict[str, tf.Tensor]:
        return dict(zip(names, frozen(*(inputs[name] for name in specs)), strict=True))

    return serve.get_concrete_function(**specs)
