from pathlib import Path
from typing import Any, NamedTuple

import keras
import pytest

from keras_bert.compress.quantize import QuantizationAware
from keras_bert.export.onnx import export_onnx
from keras_bert.export.tflite import export_tflite
from keras_bert.models.encoder import build_encoder
from keras_bert.tasks.base import Task
from keras_bert.tasks.embedding import Embedding
from keras_bert.tasks.token_classification import TokenClassification
from tests.keras_bert.compress import tiny
from tests.keras_bert.models.test_encoder import randomize
from tests.keras_bert.tasks.plain_tokenizer import PlainTokenizer

LENGTHS = (8, 16)


@pytest.fixture(scope="session")
def student():
    """A trained model on int8 grids, and its ranges."""
    model = tiny.build(vocabulary_size=2000)
    tiny.train(model, epochs=3)
    rounded = QuantizationAware(model, tiny.batches())
    tiny.train(model, epochs=1)
    return model, rounded.finish()


@pytest.fixture(scope="session")
def files(student, tmp_path_factory):
    """The folder of its three files."""
    model, ranges = student
    folder = tmp_path_factory.mktemp("edge")
    export_tflite(model, folder / "model.tflite", LENGTHS, ranges)
    export_tflite(model, folder / "model_float32.tflite", LENGTHS)
    export_onnx(model, folder / "model.onnx")
    return folder


class Rounded(NamedTuple):
    """A task on int8 grids, and the folder of its two files for LiteRT."""

    task: Task
    network: keras.Model
    ranges: dict[str, Any]
    folder: Path


def export_rounded(kind, folder, **settings):
    """Random weights are enough here: no test depends on training."""
    keras.utils.set_random_seed(0)
    tokenizer = PlainTokenizer([f"w{number}" for number in range(45)])
    task = kind.build(build_encoder(tiny.CONFIG, pooler=False), tokenizer, max_length=tiny.LENGTH, **settings)
    network = task.network()
    randomize(network)
    ranges = QuantizationAware(network, tiny.batches(1)).finish()
    for name, spans in (("model.tflite", ranges), ("model_float32.tflite", None)):
        export_tflite(network, folder / name, LENGTHS, spans, output=task.output_name)
    return Rounded(task, network, ranges, folder)


@pytest.fixture(scope="session")
def tagger(tmp_path_factory):
    """Its output runs along the tokens."""
    labels = ["O", "B-name", "I-name"]
    return export_rounded(TokenClassification, tmp_path_factory.mktemp("tagger"), labels=labels)


@pytest.fixture(scope="session")
def embedder(tmp_path_factory):
    """Its output has a name of its own."""
    return export_rounded(Embedding, tmp_path_factory.mktemp("embedder"))
