"""Keras model -> a Hugging Face folder of `.onnx` files, which transformers.js and Optimum open.

The layout and the names of files, inputs and outputs are those that transformers.js takes for granted:
`onnx/model.onnx` is its "fp32", `model_fp16.onnx` its "fp16" and `model_quantized.onnx` its "q8". All operations are
ONNX' own.
"""

import logging
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import tensorflow as tf

from keras_bert.export.onnx import OPSET, make_canonical, make_onnx, write_onnx
from keras_bert.export.transformers_names import END, INPUTS, START, STATES, VECTOR
from keras_bert.folders import LOGITS, WEB_FILE, WEB_FOLDER, WEB_HALF_FILE, WEB_INT8_FILE
from keras_bert.interop.description import write_description
from keras_bert.models.encoder import input_names
from keras_bert.tasks.base import Task
from keras_bert.tokenizers.tokenizer import Tokenizer

if TYPE_CHECKING:
    import onnx

Serve = Callable[[dict[str, tf.Tensor]], dict[str, tf.Tensor]]


def export_transformers_js(task: Task, folder: Path, opset: int = OPSET) -> None:
    """Writes the folder `transformers_js`: a description, and the graph in float32, float16 and int8.

    The graphs take `input_ids`, `attention_mask` and, of models that tell segments apart, `token_type_ids`, int64
    (batch, length). They answer with float32 `logits`; with `start_logits` and `end_logits` (batch, length); or with
    `last_hidden_state` (batch, length, width) and the vectors of an embedding, `sentence_embedding` (batch, width).
    Equal tasks give equal bytes.

    Args:
        task: of a Keras model.
        folder: an existing one, in which the other is made.
        opset: the version of ONNX' operator set.

    Raises:
        ValueError: transformers.js would give the task other inputs.
    """
    check_task(task)
    (folder / WEB_FILE).parent.mkdir(parents=True)
    write_description(task, folder / WEB_FOLDER)
    graph = make_onnx(
        _serve(task), dict.fromkeys(map(INPUTS.__getitem__, input_names(task.network())), tf.int64), opset
    )
    write_onnx(graph, folder / WEB_FILE)
    write_onnx(_halved(graph), folder / WEB_HALF_FILE)
    write_onnx(_with_integers(graph), folder / WEB_INT8_FILE)


def check_task(task: Task) -> None:
    """Asks whether transformers.js makes the inputs of a task.

    Raises:
        ValueError: it does not.
    """
    segments = "segment_ids" in input_names(task.network())
    if task.name == "question_answering" and segments and not isinstance(task.tokenizer, Tokenizer):
        raise ValueError(
            "transformers.js must be given word pieces where a model tells question and context apart: of other pieces "
            f"it makes no token_type_ids; got {task.tokenizer.kind}"
        )


def _serve(task: Task) -> Serve:
    """A task's network by the names of transformers."""
    network = task.model if task.name == "embedding" else task.network()
    names = input_names(network)

    def serve(values: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        outputs = network({name: tf.cast(values[INPUTS[name]], tf.int32) for name in names}, training=False)
        if task.name == "embedding":
            return {STATES: outputs["sequence_output"], VECTOR: outputs["embedding"]}
        if task.name == "question_answering":
            return {START: outputs[..., 0], END: outputs[..., 1]}
        return {LOGITS: outputs}

    return serve


def _halved(graph: "onnx.ModelProto") -> "onnx.ModelProto":
    """The same with weights and most sums in float16; inputs and outputs stay as they are."""
    import onnx
    from onnxruntime.transformers.float16 import DEFAULT_OP_BLOCK_LIST, convert_float_to_float16

    copy = onnx.ModelProto()
    copy.CopyFrom(graph)
    with warnings.catch_warnings():
        # That numbers become the nearest that float16 has is what was asked for.
        warnings.simplefilter("ignore")
        half: onnx.ModelProto = convert_float_to_float16(
            copy,
            keep_io_types=True,
            op_block_list=[*DEFAULT_OP_BLOCK_LIST, *_MEANS],
            node_block_list=_find_squares(graph.graph),
        )
    _join_casts(half.graph)
    # The casts stand at the end.
    make_canonical(half.graph)
    onnx.checker.check_model(half)
    return half


# Of squares of states, as normalizations take them: float16 ends at 65504, the square of 256.
_MEANS = ("ReduceMean", "ReduceSum", "Pow", "Sqrt", "Reciprocal")


def _find_squares(graph: "onnx.GraphProto") -> list[str]:
    """Names of the nodes that make squares, or what a root is taken of."""
    under_roots = {name for node in graph.node if node.op_type == "Sqrt" for name in node.input}
    return [
        node.name
        for node in graph.node
        if (node.op_type == "Mul" and len(set(node.input)) == 1) or under_roots.intersection(node.output)
    ]


def _join_casts(graph: "onnx.GraphProto") -> None:
    """Leaves out float16 between two nodes that compute in float32, as the converter puts it there."""
    made = {node.output[0]: node for node in graph.node if node.op_type == "Cast"}
    for node in graph.node:
        for place, name in enumerate(node.input):
            back = made.get(name)
            there = made.get(back.input[0]) if back is not None and back.name.endswith("_cast_to_fp32_node") else None
            if there is not None and there.name.endswith("_cast_to_fp16_node"):
                node.input[place] = there.input[0]


def _with_integers(graph: "onnx.ModelProto") -> "onnx.ModelProto":
    """The same with int8 weights, a scale a unit; what products read is rounded when it is known.

    Seven bits of weights, as transformers.js' own converter: sums of pairs of eight bits overflow on processors
    without VNNI.
    """
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic

    with tempfile.TemporaryDirectory() as folder, _quiet():
        path = Path(folder) / "model.onnx"
        quantize_dynamic(graph, path, per_channel=True, reduce_range=True, weight_type=QuantType.QInt8)
        rounded: onnx.ModelProto = onnx.load_model(path)
    onnx.checker.check_model(rounded)
    return rounded


@contextmanager
def _quiet() -> Iterator[None]:
    """The quantizer advises to prepare the graph for it, which changes nothing here."""
    logger, before = logging.getLogger(), logging.getLogger().level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)
