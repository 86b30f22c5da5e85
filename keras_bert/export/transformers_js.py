"""Keras model -> a Hugging Face folder of `.onnx` files, which transformers.js and Optimum open.

The layout and the names of files, inputs and outputs are those that transformers.js takes for granted:
`onnx/model.onnx` is its "fp32", `model_fp16.onnx` its "fp16", `model_quantized.onnx` its "q8" and `model_int8.onnx` its
"int8". All operations are ONNX' own.
"""

from collections.abc import Callable
from pathlib import Path

import tensorflow as tf

from keras_bert.compress.ranges import Ranges, fixed_ranges
from keras_bert.export.onnx import OPSET, make_onnx, write_onnx
from keras_bert.export.onnx_numbers import to_float16, to_int8, to_static_int8
from keras_bert.export.transformers_names import END, INPUTS, START, STATES, VECTOR
from keras_bert.folders import LOGITS, WEB_FILE, WEB_FOLDER, WEB_HALF_FILE, WEB_INT8_FILE, WEB_STATIC_FILE
from keras_bert.interop.description import write_description
from keras_bert.models.encoder import config_of, input_names
from keras_bert.models.first_token import without_unread_tokens
from keras_bert.tasks.base import Task
from keras_bert.tokenizers.tokenizer import Tokenizer
from keras_bert.variants.block_sparse import BlockSparse

Serve = Callable[[dict[str, tf.Tensor]], dict[str, tf.Tensor]]


def export_transformers_js(task: Task, folder: Path, opset: int = OPSET, ranges: Ranges | None = None) -> None:
    """Writes the folder `transformers_js`: a description, and the graph in float32, float16 and int8.

    Where activations have ranges there is a second one in int8, on these very grids (`QuantizeLinear`), as
    accelerators want them: the other one finds its grids row by row.

    The graphs take `input_ids`, `attention_mask` and, of models that tell segments apart, `token_type_ids`, int64
    (batch, length). They answer with float32 `logits`; with `start_logits` and `end_logits` (batch, length); or with
    `last_hidden_state` (batch, length, width) and the vectors of an embedding, `sentence_embedding` (batch, width).
    Equal tasks give equal bytes.

    Args:
        task: of a Keras model.
        folder: an existing one, in which the other is made.
        opset: the version of ONNX' operator set.
        ranges: of the activations of a model whose kernels lie on grids, what `QuantizationAware.finish` returned.

    Raises:
        ValueError: see `check_task`.
    """
    check_task(task)
    (folder / WEB_FILE).parent.mkdir(parents=True)
    write_description(task, folder / WEB_FOLDER)
    inputs = {INPUTS[name]: tf.int64 for name in input_names(task.network())}
    graph = make_onnx(_serve(task), inputs, opset)
    write_onnx(graph, folder / WEB_FILE)
    write_onnx(to_float16(graph), folder / WEB_HALF_FILE)
    write_onnx(to_int8(graph), folder / WEB_INT8_FILE)
    if ranges:
        with fixed_ranges(task.network(), ranges):
            on_grids = make_onnx(_serve(task), inputs, opset)
        write_onnx(to_static_int8(on_grids), folder / WEB_STATIC_FILE)


def check_task(task: Task) -> None:
    """Asks whether transformers.js makes the inputs of a task, and whether there is a float16 of its graph.

    Raises:
        ValueError: it does not, or there is none.
    """
    variant = config_of(task.model).variant
    if isinstance(variant, BlockSparse):
        raise ValueError(f"transformers.js must be given a graph without choices, got that of {variant.kind}")
    segments = "segment_ids" in input_names(task.network())
    if task.name == "question_answering" and segments and not isinstance(task.tokenizer, Tokenizer):
        raise ValueError(
            "transformers.js must be given word pieces where a model tells question and context apart: of other pieces "
            f"it makes no token_type_ids; got {task.tokenizer.kind}"
        )


def _serve(task: Task) -> Serve:
    """A task's network by the names of transformers."""
    network = without_unread_tokens(task.model if task.name == "embedding" else task.network())
    names = input_names(network)

    def serve(values: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        outputs = network({name: tf.cast(values[INPUTS[name]], tf.int32) for name in names}, training=False)
        if task.name == "embedding":
            return {STATES: outputs["sequence_output"], VECTOR: outputs["embedding"]}
        if task.name == "question_answering":
            return {START: outputs[..., 0], END: outputs[..., 1]}
        return {LOGITS: outputs}

    return serve
