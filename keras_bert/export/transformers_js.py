"""Exports a Keras model as a Hugging Face folder of `.onnx` files, for transformers.js and Optimum.

The layout and the names of files, inputs and outputs are those that transformers.js expects:
`onnx/model.onnx` is its "fp32", `model_fp16.onnx` its "fp16", `model_quantized.onnx` its "q8" and `model_int8.onnx` its
"int8". All operations are standard ONNX.
"""

import dataclasses
from collections.abc import Callable
from pathlib import Path

import tensorflow as tf

from keras_bert.compress.ranges import Ranges, fixed_ranges
from keras_bert.core.folders import TOKENIZER_FILE, WEB_FILE, WEB_FOLDER, WEB_HALF_FILE, WEB_INT8_FILE, WEB_STATIC_FILE
from keras_bert.export.onnx import OPSET, make_onnx, write_onnx
from keras_bert.export.onnx_numbers import convert_to_dynamic_int8, convert_to_float16, convert_to_static_int8
from keras_bert.export.runtimes import INPUTS
from keras_bert.families.bert.hugging_face import BERT
from keras_bert.interop.configs import CONFIG_FILE, write_json
from keras_bert.interop.heads import head_of, vector_settings
from keras_bert.interop.hugging_face_config import write_config
from keras_bert.interop.sentence_transformers import write_pooling
from keras_bert.interop.tokenizer_json import write_tokenizer
from keras_bert.interop.vocabularies import write_definition, write_settings
from keras_bert.layers.dense import kept_axes
from keras_bert.models.encoder import config_of, input_names
from keras_bert.models.first_token import skip_unused_tokens
from keras_bert.tasks.base import Task

Serve = Callable[[dict[str, tf.Tensor]], dict[str, tf.Tensor]]


def export_transformers_js(task: Task, folder: Path, opset: int = OPSET, ranges: Ranges | None = None) -> None:
    """Writes the folder `transformers_js`: configuration and tokenizer, and `.onnx` files in float32, float16 and int8.

    The int8 file measures activation ranges at run time. If the model has learned activation ranges (`ranges` of
    `QuantizationAware.finish`), a second int8 file contains these (`QuantizeLinear`), for accelerators.

    The inputs are `input_ids`, `attention_mask` and, for models with segments, `token_type_ids`, int64 (batch, length).
    The outputs are float32: `logits`; for question answering `start_logits` and `end_logits` (batch, length); for
    embeddings `last_hidden_state` (batch, length, width) and `sentence_embedding` (batch, width). Equal tasks give
    equal bytes.
    """
    (folder / WEB_FILE).parent.mkdir(parents=True)
    write_description(task, folder / WEB_FOLDER)
    inputs = {INPUTS[name]: tf.int64 for name in input_names(task.network())}
    graph = make_onnx(_serve(task), inputs, opset)
    write_onnx(graph, folder / WEB_FILE)
    write_onnx(convert_to_float16(graph), folder / WEB_HALF_FILE)
    write_onnx(convert_to_dynamic_int8(graph), folder / WEB_INT8_FILE)
    if ranges:
        # OpenVINO rounds rows of a matrix in an operation of their own, and states with three axes in the one before.
        with fixed_ranges(task.network(), ranges), kept_axes():
            on_grids = make_onnx(_serve(task), inputs, opset)
        write_onnx(convert_to_static_int8(on_grids, reduce_range=True), folder / WEB_STATIC_FILE)


def _serve(task: Task) -> Serve:
    """Makes a function that runs a task's network, with the input and output names of transformers."""
    network = skip_unused_tokens(task.transformers_model())
    names = input_names(network)

    def serve(values: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        outputs = network({name: tf.cast(values[INPUTS[name]], tf.int32) for name in names}, training=False)
        return task.transformers_outputs(outputs)

    return serve


def write_description(task: Task, folder: Path) -> None:
    """Writes `config.json`, `tokenizer.json` and `tokenizer_config.json`, and the pooling of an embedding.

    The configuration describes a BERT of the task's size for every graph: all runtimes have this class, and some
    graphs, as that of a pruned model or of a classifier with pooling by the mean, belong to no class.
    """
    config, head, tokenizer = config_of(task.model), head_of(task), task.tokenizer
    content = write_config(config, dataclasses.replace(head, pooling="cls"), BERT, tokenizer.pad_id)
    write_json(folder / CONFIG_FILE, content)
    if tokenizer.lowercase is None:
        segments = config.num_segments > 1
        write_definition(folder, tokenizer.definition(), tokenizer.special, task.max_length, segments=segments)
    else:
        write_settings(folder, tokenizer.lowercase, task.max_length, tokenizer.vocabulary)
        write_json(folder / TOKENIZER_FILE, write_tokenizer(tokenizer.vocabulary, lowercase=tokenizer.lowercase))
    if head.task == "embedding":
        # Where the states are the vectors, see `Embedding.transformers_outputs`, each pooling gives them.
        pooling = head.pooling if getattr(task, "pools_to_vector", True) else "mean"
        settings = vector_settings(dataclasses.replace(head, projections=(), pooling=pooling), task.max_length)
        write_pooling(folder, settings, task.network().output.shape[-1])
