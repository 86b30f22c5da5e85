"""The configuration of an `.onnx` file for Triton Inference Server, `config.pbtxt`."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from keras_bert.core.folders import LOGITS
from keras_bert.core.row_limits import limit_batch_size
from keras_bert.export.runtimes import OnnxModel
from keras_bert.tasks.base import Task

_MOST_ROWS = 64
# Requests that arrive within a millisecond become one batch.
_MICROSECONDS = 1000
_LABELS = "labels.txt"


def write_config(task: Task, model: Path, file: Path, lengths: Sequence[int]) -> None:
    """Writes the configuration of a model, and the names of its labels where it gives one logit for each.

    Triton makes one batch of requests of equal length: clients pad rows to one of `lengths`, which stand among the
    parameters, and of each of which a row is run before the first request. The fields are those of `ModelConfig` in
    triton-inference-server/common, `protobuf/model_config.proto`; the name of the model is that of its folder.
    """
    runtime = OnnxModel(model, task.max_length)
    labels: Sequence[str] = getattr(task, "labels", ())
    # A vector has no number for each label, and Triton reads a label from each line.
    has_logits = task.needs_pooling and task.output_name == LOGITS
    has_labels = has_logits and bool(labels) and not any("\n" in label for label in labels)
    if has_labels:
        (file.parent / _LABELS).write_text("".join(f"{label}\n" for label in labels), encoding="utf-8")
    file.write_text("\n".join(_lines(task, runtime, lengths, has_labels)) + "\n", encoding="utf-8")


def _lines(task: Task, runtime: OnnxModel, lengths: Sequence[int], has_labels: bool) -> Iterator[str]:
    rows = limit_batch_size(_MOST_ROWS, task.max_length)
    yield 'backend: "onnxruntime"'
    yield f"max_batch_size: {rows}"
    yield f"dynamic_batching {{ max_queue_delay_microseconds: {_MICROSECONDS} }}"
    for name in runtime.inputs:
        yield f"input {{ name: {json.dumps(name)} data_type: TYPE_INT32 dims: [ -1 ] }}"
    outputs = runtime.output if isinstance(runtime.output, dict) else {task.output_name: runtime.output}
    for name, output in outputs.items():
        dims = ", ".join(str(size) if isinstance(size, int) else "-1" for size in output.shape[1:])
        labelled = f" label_filename: {json.dumps(_LABELS)}" if has_labels else ""
        yield f"output {{ name: {json.dumps(name)} data_type: TYPE_FP32 dims: [ {dims} ]{labelled} }}"
    for name, numbers in (("lengths", lengths), ("max_length", [task.max_length])):
        value = json.dumps(" ".join(map(str, numbers)))
        yield f'parameters {{ key: "{name}" value {{ string_value: {value} }} }}'
    for length in lengths:
        inputs = " ".join(
            f"inputs {{ key: {json.dumps(name)} value {{ data_type: TYPE_INT32 dims: [ {length} ] zero_data: true }} }}"
            for name in runtime.inputs
        )
        yield f'model_warmup {{ name: "{length} tokens" batch_size: 1 {inputs} }}'
