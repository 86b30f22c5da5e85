"""Exports a Keras model as a `.tflite` file for MediaPipe Tasks, with metadata that describes its tensors.

MediaPipe's text tasks tokenize text themselves. They read the meaning of inputs and outputs from LiteRT's metadata
(schema `metadata_schema.fbs`, identifier M001), and the vocabulary and the labels from files attached to the model.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import flatbuffers
import keras
from ai_edge_litert import schema_py_generated as schema

from keras_bert.compress.quantization_parameters import QuantizationParameters
from keras_bert.core.folders import LABELS_TEXT, VOCABULARY_FILE
from keras_bert.export.attachments import attach_entries
from keras_bert.export.quantized import export_quantized
from keras_bert.export.runtimes import PROBABILITIES, Array
from keras_bert.export.sharing import write_model
from keras_bert.export.tflite_kinds import METADATA_NAME
from keras_bert.tasks.base import Task

# The identifier of the metadata schema, and MediaPipe's names of our inputs.
_IDENTIFIER = b"M001"
_INPUTS = {"token_ids": "ids", "segment_ids": "segment_ids", "padding_mask": "mask"}
# Enumerators of the schema: types of associated files (2), of tensor content, and of process units.
_AXIS_LABELS, _VOCABULARY, _FEATURE, _BERT_TOKENIZER = 2, 5, 1, 4

# A writer writes a value and returns its offset, or a byte; a table maps the numbers of the schema's fields to writers.
Writer = Callable[[flatbuffers.Builder], Any]
Table = Mapping[int, Writer]


def export_mediapipe(
    task: Task,
    path: str | os.PathLike[str],
    quantization: QuantizationParameters | None = None,
    rows: Mapping[str, Array] | None = None,
) -> None:
    """Writes a task for MediaPipe, with one signature of the maximum length; classifiers return probabilities.

    The task is a classifier of single texts or an embedding. Without `quantization` the file is a float file; `rows`
    are those of `export_quantized`.
    """
    network, labels, output = task.network(), list(task.labels), task.output_name
    if labels:
        sigmoid = keras.layers.Activation("sigmoid", name="sigmoid")
        activation = sigmoid if task.independent_labels else keras.layers.Softmax(name="softmax")
        network, output = keras.Model(network.inputs, activation(network.output)), PROBABILITIES
    export_quantized(network, path, (task.max_length,), quantization, rows, output=output)
    add_metadata(path, task.tokenizer.vocabulary, labels, output)


def add_metadata(path: str | os.PathLike[str], vocabulary: Sequence[str], labels: Sequence[str], output: str) -> None:
    """Adds MediaPipe's metadata, vocabulary and labels (none for an embedding) to a file with BERT's three inputs."""
    path = Path(path)
    model = schema.ModelT.InitFromPackedBuf(path.read_bytes())
    if len(model.signatureDefs) != 1:
        raise ValueError(f"{path} must have one signature for MediaPipe, got {len(model.signatureDefs)}")
    names = {entry.tensorIndex: entry.name.decode() for entry in model.signatureDefs[0].inputs}
    inputs = [_INPUTS[names[index]] for index in model.subgraphs[0].inputs]
    content = schema.BufferT()
    content.data = bytearray(_metadata(inputs, output, bool(labels)))
    entry = schema.MetadataT()
    entry.name, entry.buffer = METADATA_NAME, len(model.buffers)
    model.buffers.append(content)
    model.metadata = [*(model.metadata or ()), entry]
    path.write_bytes(write_model(model))
    files = {VOCABULARY_FILE: vocabulary, **({LABELS_TEXT: labels} if labels else {})}
    # MediaPipe reads the files from the archive without decompression.
    attach_entries(
        path, {name: "".join(f"{line}\n" for line in lines).encode() for name, lines in files.items()}, stored=True
    )


def _metadata(inputs: Sequence[str], output: str, has_labels: bool) -> bytes:
    builder = flatbuffers.Builder(1024)
    tokenizer = {0: _kind(_BERT_TOKENIZER), 1: _table({0: _list([_file(VOCABULARY_FILE, _VOCABULARY)])})}
    files = {6: _list([_file(LABELS_TEXT, _AXIS_LABELS)])} if has_labels else {}
    graph = {
        2: _list([_tensor(name, {}) for name in inputs]),
        3: _list([_tensor(output, files)]),
        5: _list([_table(tokenizer)]),
    }
    whole = _table({0: _text("BERT"), 3: _list([_table(graph)]), 7: _text("1.0.0")})
    builder.Finish(whole(builder), file_identifier=_IDENTIFIER)
    return bytes(builder.Output())


def _tensor(name: str, fields: Table) -> Writer:
    return _table({0: _text(name), 3: _table({0: _kind(_FEATURE), 1: _table({})}), **fields})


def _file(name: str, kind: int) -> Writer:
    return _table({0: _text(name), 2: _kind(kind)})


class _Byte(int):
    """A number that a table holds itself; other fields hold offsets."""


def _kind(kind: int) -> Writer:
    return lambda _: _Byte(kind)


def _text(text: str) -> Writer:
    return lambda builder: builder.CreateString(text)


def _list(members: Sequence[Writer]) -> Writer:
    def write(builder: flatbuffers.Builder) -> Any:
        places = [member(builder) for member in members]
        builder.StartVector(4, len(places), 4)
        for place in reversed(places):
            builder.PrependUOffsetTRelative(place)
        return builder.EndVector()

    return write


def _table(fields: Table) -> Writer:
    def write(builder: flatbuffers.Builder) -> Any:
        # Values are written first: flatbuffers cannot write them inside a table.
        values = {number: field(builder) for number, field in fields.items()}
        builder.StartObject(max(values, default=-1) + 1)
        for number, value in values.items():
            if isinstance(value, _Byte):
                builder.PrependInt8Slot(number, int(value), 0)
            else:
                builder.PrependUOffsetTRelativeSlot(number, value, 0)
        return builder.EndObject()

    return write
