"""Files that take text: the ids that the tokenizer makes, in the graph."""

from pathlib import Path

import numpy as np
import pytest

from keras_bert.clients.golden import SECONDS, TEXTS
from keras_bert.compress.quantize import QuantizationAware
from keras_bert.compress.rounding import Rounding
from keras_bert.export.check import ParityError
from keras_bert.export.quantized import export_quantized
from keras_bert.export.text import TextModel, check_text, export_text
from keras_bert.export.tflite import export_tflite
from keras_bert.models.encoder import input_names
from tests.keras_bert.clients.exported import LENGTHS
from tests.keras_bert.export.word_tasks import make_task


def rows_of(task, texts, seconds=None):
    encoded = task.tokenizer.encode(texts, seconds, max_length=LENGTHS[-1])
    return {name: np.asarray(encoded[name]) for name in input_names(task.network())}


def test_texts_and_pairs_get_the_models_numbers(tmp_path: Path) -> None:
    task = make_task("classification")
    export_text(task, tmp_path / "text.tflite")
    ask = TextModel(tmp_path / "text.tflite")
    for seconds in (None, SECONDS):
        wanted = task.network().predict(rows_of(task, TEXTS, seconds), verbose=0)
        np.testing.assert_allclose(ask(TEXTS, seconds), wanted, atol=1e-5)
    assert ask(["x" * 100_000]).shape == (1, 3)


@pytest.mark.parametrize("recipe", ["mixed_wi8_ai8", "weights_wi4", "float16"])
def test_integers_are_those_of_the_file_that_takes_ids(recipe: str, tmp_path: Path) -> None:
    task = make_task("embedding")
    network, rows = task.network(), rows_of(task, TEXTS)
    rounding = Rounding(recipe, QuantizationAware(network, [rows], recipe).finish())
    export_quantized(network, tmp_path / "ids.tflite", LENGTHS[-1:], rounding, output=task.output_name)
    export_text(task, tmp_path / "text.tflite", rounding)
    assert check_text(task, tmp_path / "text.tflite", tmp_path / "ids.tflite", TEXTS) < 1e-4


def test_another_vocabulary_is_found(tmp_path: Path) -> None:
    task = make_task("regression")
    export_tflite(task.network(), tmp_path / "ids.tflite", LENGTHS, output=task.output_name)
    pieces = task.tokenizer.vocabulary
    task.tokenizer = type(task.tokenizer)((*pieces[:5], *reversed(pieces[5:])), lowercase=True)
    export_text(task, tmp_path / "text.tflite")
    task.tokenizer = type(task.tokenizer)(pieces, lowercase=True)
    with pytest.raises(ParityError, match=r"^text\.tflite must differ by at most"):
        check_text(task, tmp_path / "text.tflite", tmp_path / "ids.tflite", TEXTS)


def test_what_cannot_be_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="numbers of a whole text"):
        export_text(make_task("token_classification"), tmp_path / "text.tflite")
    task = make_task("regression")
    rounding = Rounding("static_wi8_ai8", {})
    with pytest.raises(ValueError, match=r"^static_wi8_ai8 must be found by rows of ids"):
        export_text(task, tmp_path / "text.tflite", rounding)
    export_tflite(task.network(), tmp_path / "ids.tflite", LENGTHS)
    with pytest.raises(ValueError, match="must take text, got the signatures"):
        TextModel(tmp_path / "ids.tflite")
    (tmp_path / "text.tflite").write_bytes(b"damaged")
    with pytest.raises(ValueError, match=r"must be a \.tflite file"):
        TextModel(tmp_path / "text.tflite")
