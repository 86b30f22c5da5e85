"""The page, and the code in it: what LiteRT and `predict` answer, in JavaScript."""

import dataclasses

import numpy as np
import pytest

from keras_bert.clients.golden import make_golden_rows
from keras_bert.clients.page import PageScore, find_page_obstacle, write_page, write_tokenizers
from keras_bert.compress.quantization_parameters import QuantizationParameters
from keras_bert.compress.quantize import QuantizationAware
from keras_bert.export.bundle import attach_companions, load_exported
from keras_bert.export.quantized import export_quantized
from keras_bert.export.sample_texts import TEXTS
from keras_bert.models.encoder import input_names
from keras_bert.options.quantization import RECIPES
from tests.clients.fuzz import MPNET, PIECES, check_plain, cut, layout_rows, make_strings
from tests.clients.web.node import ask
from tests.keras_bert.clients.exported import LENGTHS, export_folder
from tests.keras_bert.export.word_tasks import SETTINGS, make_task
from tests.keras_bert.family_tasks import FAMILIES

pytestmark = pytest.mark.web

# Names with vowel signs and accents, which no token covers, in characters of a single UTF-16 unit.
_NAMES = "\u0935\u093f\u0937\u094d\u0923\u0941, Zoe\u0301, \u2764\ufe0f"
LONG = f"Ada Lovelace met a small boat in London, 1999. It was the harbour's {_NAMES}. " * 6
QUESTIONS = ("What met the boat?", "Where was it in 1999?", "")
FILE = "model_float32.tflite"
# Graphs of all operations that files have. MobileBERT's is as in its checkpoints, with products of even widths: one of
# 9 numbers in 4 bits XNNPACK leaves to LiteRT, which rounds otherwise.
GRAPHS = {**FAMILIES, "mobilebert": {**FAMILIES["mobilebert"], "activation": "relu", "embedding_size": 4}}
# Families whose graphs depend on the length in more than shapes: the page runs them with padding.
PADDED = ("bigbird", "deberta", "longformer", "mobilebert")
# Recipe whose activations are all integers -> difference from LiteRT, as a share of the outputs' spread.
TABLE_SHARES = {"static_wi8_ai8": 0.05, "static_wi8_ai16": 0.001}


@pytest.fixture(scope="module", params=SETTINGS)
def folder(request, tmp_path_factory):
    made = export_folder(make_task(request.param), tmp_path_factory.mktemp(request.param))
    write_tokenizers(made)
    write_page(made, request.param, PageScore("accuracy", 0.9375, 32))
    return made


def test_numbers_and_answers_are_those_of_golden_rows(folder):
    rows = make_golden_rows(folder)
    for row, actual in zip(rows, ask("ask_page.mjs", folder, FILE, given=rows), strict=True):
        for name in ("token_ids", "segment_ids", "padding_mask"):
            assert actual["row"][name] == row[name]
        expected = np.ravel(row["outputs"][FILE])
        np.testing.assert_allclose(actual["output"][: len(expected)], expected, atol=1e-5)


def test_long_texts_are_read_to_their_end(folder):
    task = load_exported(folder)
    takes_two = task.name == "question_answering"
    given = [
        {"text": text, **({"second": LONG} if takes_two else {})} for text in (QUESTIONS if takes_two else (LONG,))
    ]
    texts = [row["text"] for row in given]
    answers = [row["answer"] for row in ask("ask_page.mjs", folder, FILE, given=given)]
    expected = task.predict(texts, [LONG] * len(texts)) if takes_two else task.predict(texts)
    assert_same(answers, [plain(answer) for answer in expected])


def test_tags_of_no_scheme_mark_no_entities(tmp_path):
    task = make_task("token_classification")
    task.labels = ("X", "B-film", "[SEP]")
    folder = export_folder(task, tmp_path)
    write_tokenizers(folder)
    answers = [row["answer"] for row in ask("ask_page.mjs", folder, FILE, given=[{"text": text} for text in TEXTS])]
    expected = [plain(answer) for answer in load_exported(folder).predict(TEXTS)]
    assert_same(answers, expected)
    assert {entity["label"] for answer in expected for entity in answer} == {"film"}


def plain(value):
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return value.tolist()
    return dataclasses.asdict(value) if dataclasses.is_dataclass(value) and not isinstance(value, type) else value


def assert_same(actual, expected):
    """What is wanted is found, numbers to 1e-5; more may be."""
    if isinstance(expected, dict):
        for name in actual.keys() & expected.keys():
            assert_same(actual[name], expected[name])
    elif isinstance(expected, list):
        assert len(actual) == len(expected)
        for one, other in zip(actual, expected, strict=True):
            assert_same(one, other)
    else:
        assert actual == (expected if isinstance(expected, str) else pytest.approx(expected, abs=1e-5))


@pytest.mark.parametrize("recipe", RECIPES)
def test_integers_of_every_recipe(recipe, tmp_path):
    check_integers(make_task("classification"), recipe, tmp_path)


@pytest.mark.parametrize("recipe", ["mixed_wi8_ai8", "static_wi8_ai8", "weights_wi4"])
@pytest.mark.parametrize("family", GRAPHS)
def test_integers_of_every_family(family, recipe, tmp_path):
    check_integers(make_task("classification", **GRAPHS[family]), recipe, tmp_path)


def check_integers(task, recipe, folder):
    """Compares a quantized file's outputs on the page with LiteRT's."""
    encoded = task.tokenizer.encode(list(TEXTS), max_length=LENGTHS[-1])
    network = task.network()
    rows = {name: np.asarray(encoded[name]) for name in input_names(network)}
    rounding = QuantizationParameters(recipe, QuantizationAware(network, [rows], recipe).finish())
    export_quantized(network, folder / "model.tflite", LENGTHS, rounding, rows)
    attach_companions(task, folder / "model.tflite")
    task.save_settings(folder)
    (folder / "metrics.json").write_text("{}")
    write_tokenizers(folder)
    assert find_page_obstacle(folder) == ""
    golden = make_golden_rows(folder)
    answers = ask("ask_page.mjs", folder, "model.tflite", given=golden)
    assert all(row["output"] == row["padded"] for row in answers)
    actual = np.array([row["output"] for row in answers])
    expected = np.array([row["outputs"]["model.tflite"] for row in golden])
    # A value between two steps of a grid goes to the other one here and there, and where all is integer LiteRT looks
    # functions up in tables.
    np.testing.assert_allclose(actual, expected, atol=TABLE_SHARES.get(recipe, 0.01) * np.ptp(expected))
    assert recipe in TABLE_SHARES or np.isclose(actual, expected, atol=1e-4).mean() > 0.9


@pytest.mark.parametrize("name", ["classification", "token_classification", "question_answering"])
@pytest.mark.parametrize("family", GRAPHS)
def test_numbers_of_every_family(family, name, tmp_path):
    export_folder(make_task(name, **GRAPHS[family]), tmp_path)
    write_tokenizers(tmp_path)
    assert find_page_obstacle(tmp_path) == ""
    rows = make_golden_rows(tmp_path)
    for row, actual in zip(rows, ask("ask_page.mjs", tmp_path, FILE, given=rows), strict=True):
        expected = np.ravel(row["outputs"][FILE])
        np.testing.assert_allclose(actual["output"][: len(expected)], expected, atol=3e-5)
        assert actual["output"] == actual["padded"][: len(actual["output"])]
        if name != "classification" and family not in PADDED:
            assert len(actual["output"]) == len(expected)


@pytest.mark.parametrize(("lowercase", "special"), [(True, PIECES[:5]), (False, PIECES[:5]), (False, MPNET)])
def test_strings_are_cut_as_here(lowercase, special):
    from keras_bert.clients.characters import character_table
    from keras_bert.tokenizers.tokenizer import Tokenizer

    texts, tokenizer = make_strings(seed=7), Tokenizer((*special, *PIECES[5:]), lowercase)
    given = {"pieces": tokenizer.vocabulary, "characters": character_table(lowercase), "texts": texts}
    tokens = ask("cut_text.mjs", given=given)
    rows = layout_rows(tokenizer.encode(texts, texts, max_length=16), "token_ids")
    expected = zip(cut(tokenizer, texts), rows, strict=True)
    answers = [(one["pieces"], " ".join(map(str, one["row"]))) for one in tokens]
    assert [text for text, one, other in zip(texts, answers, expected, strict=True) if one != other] == []
    if lowercase:
        check_plain(texts, [answer["plain"] for answer in tokens])


def test_a_page_answers_without_a_network(folder):
    text = "Ada Lovelace met a small boat."
    given = [{"text": text, "dark": True}, {"text": "What?", "second": text}]
    seen = ask("open_page.mjs", folder / "index.html", given=given)
    assert all(row["asked"] == [] and row["errors"] == [] for row in seen)
    task = load_exported(folder)
    first, second = (row["answer"] for row in seen)
    if task.name == "classification":
        assert first.split()[0] == task.predict([text])[0].label
        assert second.split()[0] == task.predict(["What?"], [text])[0].label
    elif task.name == "multi_label":
        labels = [answer.label for answer in task.predict([text])[0]]
        assert first.startswith(", ".join(labels) or "no label")
    elif task.name == "regression":
        assert float(first) == pytest.approx(task.predict([text])[0], abs=1e-4)
    elif task.name == "token_classification":
        assert [mark.rsplit(" ", 2)[0] for mark in seen[0]["marks"]]
        assert len(seen[0]["marks"]) == len(task.predict([text])[0])
    elif task.name == "question_answering":
        (answer,) = task.predict(["What?"], [text])
        assert seen[1]["marks"] == ([answer.text] if answer.text else [])
    else:
        assert first.count(",") == 31
        assert second.startswith("cosine")


@pytest.mark.parametrize("pairs", [True, False])
def test_an_example_is_asked_by_a_click_and_only_pairs_have_a_second_field(tmp_path, pairs):
    task = make_task("classification")
    task.pairs = pairs
    folder = export_folder(task, tmp_path)
    write_tokenizers(folder)
    write_page(folder, "reviews", PageScore("accuracy", 0.9375, 32))
    for seen in ask("open_page.mjs", folder / "index.html", given=[{"example": 0}, {"example": 1}]):
        assert seen["errors"] == []
        assert len(seen["texts"]) == 1 + pairs
        assert seen["answer"].split()[0] == task.predict(*([text] for text in seen["texts"]))[0].label


def test_a_long_row_and_no_file_are_refused(tmp_path):
    folder = export_folder(make_task("regression"), tmp_path)
    write_tokenizers(folder)
    (folder / FILE).write_bytes(b"no model at all")
    with pytest.raises(AssertionError, match=r"no \.tflite file"):
        ask("ask_page.mjs", folder, FILE, given=[])
