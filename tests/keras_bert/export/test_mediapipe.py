"""Files for MediaPipe: what its readers look for is there, and answers are those of the model."""

import re
import zipfile

import flatbuffers
import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from flatbuffers import encode, number_types, table

from keras_bert.compress.quantization_parameters import quantized_activations
from keras_bert.export.mediapipe import add_metadata, export_mediapipe
from keras_bert.export.mediapipe_text import MediaPipeTokenizer, measure_other_ids
from keras_bert.export.runtimes import TFLiteModel
from keras_bert.export.targets.mediapipe import MediaPipe
from keras_bert.export.tflite import export_tflite
from keras_bert.tasks.classification import Classification
from keras_bert.tasks.regression import Regression
from keras_bert.tokenizers.eager import EagerWordPiece
from keras_bert.tokenizers.tokenizer import Tokenizer
from keras_bert.tokenizers.wordpiece_vocabulary import SPECIAL_TOKENS
from tests.keras_bert.compress import tiny
from tests.keras_bert.export.grids import put_on_grids


def make_tokenizer(*, lowercase=True):
    return Tokenizer([*SPECIAL_TOKENS, *(f"piece{number}" for number in range(45))], lowercase)


@pytest.fixture(scope="module")
def task():
    model = tiny.build()
    tiny.train(model, epochs=2)
    return Classification(model, make_tokenizer(), labels=["no", "yes"], max_length=tiny.LENGTH)


@pytest.fixture(scope="module")
def file(task, tmp_path_factory):
    path = tmp_path_factory.mktemp("mediapipe") / "model.tflite"
    export_mediapipe(task, path)
    return path


class Place(table.Table):
    """A table of a flatbuffer, read by the numbers of its fields."""

    def field(self, number):
        return self.Offset(4 + 2 * number)

    def byte(self, number):
        return self.Get(number_types.Int8Flags, self.field(number) + self.Pos)

    def text(self, number):
        return self.String(self.field(number) + self.Pos).decode()

    def inner(self, number):
        return Place(self.Bytes, self.Indirect(self.field(number) + self.Pos))

    def members(self, number):
        offset = self.field(number)
        start = self.Vector(offset)
        return [Place(self.Bytes, self.Indirect(start + 4 * index)) for index in range(self.VectorLen(offset))]


def read_metadata(path):
    model = schema.ModelT.InitFromPackedBuf(path.read_bytes())
    (entry,) = [one_entry for one_entry in model.metadata if one_entry.name == b"TFLITE_METADATA"]
    content = bytearray(model.buffers[entry.buffer].data)
    assert flatbuffers.util.GetBufferIdentifier(content, 0) == b"M001"
    return Place(content, encode.Get(number_types.UOffsetTFlags.packer_type, content, 0))


def test_readers_find_inputs_in_their_order_the_tokenizer_and_the_labels(file, task):
    model = schema.ModelT.InitFromPackedBuf(file.read_bytes())
    assert len(model.subgraphs) == len(model.signatureDefs) == 1
    ours = {"token_ids": "ids", "segment_ids": "segment_ids", "padding_mask": "mask"}
    by_index = {entry.tensorIndex: ours[entry.name.decode()] for entry in model.signatureDefs[0].inputs}
    (graph,) = read_metadata(file).members(3)
    assert [place.text(0) for place in graph.members(2)] == [by_index[index] for index in model.subgraphs[0].inputs]
    (unit,) = graph.members(5)
    assert unit.byte(0) == 4, "BertTokenizerOptions"
    (vocabulary,) = unit.inner(1).members(0)
    assert (vocabulary.text(0), vocabulary.byte(2)) == ("vocab.txt", 5)
    (output,) = graph.members(3)
    (labels,) = output.members(6)
    assert (labels.text(0), labels.byte(2)) == ("labels.txt", 2)
    with zipfile.ZipFile(file) as archive:
        assert archive.read("vocab.txt").decode().splitlines() == list(task.tokenizer.vocabulary)
        assert archive.read("labels.txt") == b"no\nyes\n"
        assert {entry.compress_type for entry in archive.infolist()} == {zipfile.ZIP_STORED}, "read where they lie"


def test_answers_are_the_models_probabilities(file, task):
    rows, _ = tiny.make_rows(32, seed=4)
    logits = np.asarray(task.network()(rows))
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(TFLiteModel(file)(**rows)["probabilities"], shares, atol=1e-5)


def test_a_rounded_model_keeps_its_integers(tmp_path):
    model = tiny.build()
    tiny.train(model, epochs=2)
    rounding = put_on_grids(model, batches=tiny.batches())
    task = Classification(model, make_tokenizer(), labels=["no", "yes"], max_length=tiny.LENGTH)
    export_mediapipe(task, tmp_path / "model.tflite", rounding)
    rows, _ = tiny.make_rows(64, seed=4)
    with quantized_activations(model, rounding):
        expected = np.asarray(model(rows))
    probabilities = TFLiteModel(tmp_path / "model.tflite")(**rows)["probabilities"]
    assert (probabilities.argmax(axis=1) == expected.argmax(axis=1)).mean() > 0.95


def test_refuses_tasks_vocabularies_and_labels_that_mediapipe_does_not_know(task):
    regression = Regression.build(task.encoder, task.tokenizer, max_length=8)
    with pytest.raises(ValueError, match=r"^mediapipe cannot take .*: MediaPipe has .*, got regression$"):
        MediaPipe().check(regression)
    cased = Classification(task.model, make_tokenizer(lowercase=False), labels=["no", "yes"], max_length=8)
    with pytest.raises(ValueError, match=r"lowercased WordPiece tokens, got a vocabulary with upper case$"):
        MediaPipe().check(cased)
    for label in ("", "a\nb", "a\rb", "a\0b"):
        odd = Classification(task.model, task.tokenizer, labels=[label, "yes"], max_length=8)
        with pytest.raises(
            ValueError, match=rf"labels of one line each: a label must .*, got {re.escape(repr(label))}$"
        ):
            MediaPipe().check(odd)


def test_several_signatures_are_refused(task, tmp_path):
    export_tflite(task.network(), tmp_path / "model.tflite", (8, 16))
    with pytest.raises(ValueError, match="must have one signature for MediaPipe, got 2"):
        add_metadata(tmp_path / "model.tflite", task.tokenizer.vocabulary, [], "logits")


PIECES = (*SPECIAL_TOKENS, "a", "##b", "ab", "##ar", "\u00e4", "\u6771", "$", "\u2014", "x")


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("AB ab", ["ab", "ab"]),
        ("aar a$b", ["a", "##ar", "a", "$", "[UNK]"]),
        ("\u00c4 \u00e4", ["[UNK]", "\u00e4"]),
        ("a\u200bb a\u00a0b", ["[UNK]", "[UNK]"]),
        ("a\u2014\u6771a", ["a", "\u2014", "\u6771", "a"]),
        ("[MASK]", ["[UNK]", "[UNK]", "[UNK]"]),
        ("a" + 99 * "b" + " a" + 100 * "b", ["ab", *98 * ["##b"], "[UNK]"]),
        ("\u00e4" + 50 * "b", ["\u00e4", *50 * ["##b"]]),
        (51 * "\u00e4", ["[UNK]"]),
        (" \t\n", []),
    ],
)
def test_pieces(text, pieces):
    (ids,) = MediaPipeTokenizer(PIECES, lowercase=True).tokenize([text]).to_list()
    assert [PIECES[number] for number in ids] == pieces


def test_rows_and_the_share_of_texts_with_other_ids():
    theirs, ours = (
        tokenizer(PIECES, lowercase=True).encode(["ab a", "x x x x"], max_length=5)
        for tokenizer in (MediaPipeTokenizer, EagerWordPiece)
    )
    assert theirs.keys() == ours.keys()
    assert all(np.array_equal(theirs[name], values) for name, values in ours.items())
    tokenizer = EagerWordPiece(PIECES, lowercase=True)
    assert measure_other_ids(tokenizer, ["ab", "AB x", "\u00e1b", "a\u200bb"]) == 0.5
