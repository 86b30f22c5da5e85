"""The model card says what the metrics say."""

import dataclasses
import json

import pytest
import yaml

from components.artifacts.evaluation import Metrics, SeedScores
from components.scoring.model_card import (
    calibration_lines,
    describe_coverage,
    format_score,
    render_model_card,
    write_model_card,
)
from components.sources.checkpoint import CheckpointOrigin
from keras_bert.accelerators.base import Coverage
from tests.components.labelled_rows import CORE_TASKS

PIPELINE_TAGS = {
    "token_classification": "token-classification",
    "question_answering": "question-answering",
    "embedding": "sentence-similarity",
    "retrieval": "sentence-similarity",
    "reranking": "text-ranking",
}
TASK = {"task": "classification", "labels": ["bad", "good"], "max_length": 64}
RECIPE = {
    "model.tflite": {"lengths": [32, 64], "weights": "int8", "activations": "int8 around products"},
    "model_float32.tflite": {"lengths": [32, 64]},
    "model.onnx": {"lengths": [64]},
}


def value(*seeds, sd=None):
    return {"mean": sum(seeds) / len(seeds), "sd": sd, "seeds": list(seeds)}


def metrics(**more):
    models = {
        "bag of n-grams": {"metrics": {"accuracy": value(0.7), "macro_f1": value(0.65)}},
        "tflite int8": {
            "metrics": {"accuracy": value(0.75), "macro_f1": value(0.7)},
            "megabytes": 1.5,
            "download_megabytes": 1.25,
            "milliseconds": 0.091,
        },
    }
    overlap = {"validation": {"train": 3}, "test": {"train": 0, "validation": 0}}
    return Metrics.from_json(
        {
            "task": "classification",
            "rows": {"test": 12},
            "overlap": overlap,
            "metric": "accuracy",
            "shipped": "tflite int8",
            "kept": 0,
            "models": models,
            **more,
        }
    )


def card_of(task=TASK, recipe=RECIPE, **more):
    return render_model_card("reviews", 3, metrics(**more), task, recipe)


def write_card(folder, *origin, task=TASK, tokenizer=None):
    """The card of a folder that has what the step needs."""
    contents = {
        "metrics.json": metrics().as_json(),
        "task.json": task,
        "export.json": RECIPE,
        "tokenizer.json": tokenizer or {"lowercase": True},
    }
    for file, content in contents.items():
        (folder / file).write_text(json.dumps(content))
    (folder / "vocab.txt").write_text("[PAD]\n[UNK]\n")
    write_model_card(folder, "mine", 7, *origin)
    return (folder / "README.md").read_text()


def test_the_card_holds_labels_lengths_and_every_row():
    card = card_of()
    assert card.startswith(
        "# reviews, version 3\n\nA BERT classifier of texts: bad, good. Inputs hold up to 64 tokens.\n"
    )
    assert "| model | accuracy | macro_f1 | MB | MB deflated | ms |\n| --- | --- | --- | --- | --- | --- |\n" in card
    assert "| bag of n-grams | 70.00 | 65.00 |  |  |  |\n" in card
    assert "| tflite int8 | 75.00 | 70.00 | 1.50 | 1.25 | 0.09 |\n" in card
    assert "any batch and any length up to 64 tokens" in card
    assert "On 12 test rows" in card
    assert "`logits`: float32 (batch, 2), one for each label." in card
    assert "`tflite int8` is what this folder is for" in card
    assert "over" not in card.split("## Quality")[1].split("|")[0], "one seed has no deviation to explain"


@pytest.mark.parametrize(
    ("counts", "claim"),
    [
        ((0, 0), "No training or validation row has the texts of a test row, white space and letter case aside."),
        (
            (2, 1),
            "2 of 12 test rows have their texts in training rows, too; 1 of 12 test rows have their texts in "
            "validation rows, too (white space and letter case aside): on new texts\nscores may be lower.",
        ),
    ],
)
def test_the_card_claims_of_the_test_rows_what_was_counted(counts, claim):
    overlap = {"test": dict(zip(("train", "validation"), counts, strict=True))}
    card = card_of(overlap=overlap)
    assert claim in card
    assert "nothing was trained" not in card


def test_labels_and_warnings_are_text_in_the_card():
    task = {**TASK, "labels": ["<script>x</script>", "[a](http://b)", "\x1b[2J"]}
    card = render_model_card("reviews", 3, metrics(warnings=["*n* <b>"]), task, RECIPE)
    assert r": &lt;script&gt;x&lt;/script&gt;, \[a\](http&#58;//b), \x1b\[2J. Inputs" in card
    assert r"- warning: \*n\* &lt;b&gt;" in card


def test_of_two_files_for_one_runtime_the_card_has_the_one_that_is_pushed():
    card = card_of()
    says = "weights int8; activations int8 around products; for LiteRT; signatures for 32, 64 tokens"
    assert f"- `model.tflite`: {says}\n" in card
    assert "model_float32" not in card
    alone = {name: RECIPE[name] for name in ("model_float32.tflite",)}
    card = card_of(recipe=alone)
    assert "- `model_float32.tflite`: float32, for LiteRT; signatures for 32, 64 tokens\n" in card
    assert "`model.tflite`" not in card
    assert "onnx" not in card


def test_the_files_for_the_web_are_told_apart_by_what_asks_for_them():
    web = {
        "transformers_js/onnx/model.onnx": {"lengths": [64], "weights": "float32"},
        "transformers_js/onnx/model_fp16.onnx": {"lengths": [64], "weights": "float16"},
        "transformers_js/onnx/model_quantized.onnx": {"lengths": [64], "weights": "int8", "activations": "by rows"},
        "transformers_js/onnx/model_int8.onnx": {"lengths": [64], "weights": "int8", "activations": "learned"},
    }
    card = card_of(recipe=RECIPE | web)
    assert '- `transformers_js/onnx/model.onnx`: float32, `dtype: "fp32"` of transformers.js' in card
    assert '- `transformers_js/onnx/model_fp16.onnx`: weights float16; `dtype: "fp16"`\n' in card
    quantized = 'weights int8; activations by rows; `dtype: "q8"`'
    assert f"- `transformers_js/onnx/model_quantized.onnx`: {quantized}\n" in card
    static = 'weights int8; activations learned; `dtype: "int8"`'
    assert f"- `transformers_js/onnx/model_int8.onnx`: {static}\n" in card
    assert "transformers_js" not in card_of()


def test_seeds_have_a_mean_and_a_deviation():
    seed_metrics = metrics()
    scores = SeedScores(**value(0.7, 0.8, sd=0.0707))
    shipped = dataclasses.replace(seed_metrics.shipped_model, metrics=dict.fromkeys(("accuracy", "macro_f1"), scores))
    seed_metrics = dataclasses.replace(seed_metrics, models={**seed_metrics.models, seed_metrics.shipped: shipped})
    card = render_model_card("reviews", 3, seed_metrics, TASK, RECIPE)
    assert "Scores are the mean and the standard deviation over 2 seeds." in card
    assert "| tflite int8 | 75.00 ± 7.07 | 75.00 ± 7.07 | 1.50 | 1.25 | 0.09 |" in card


@pytest.mark.parametrize(
    ("score", "text"),
    [
        (SeedScores(0.5, None, [0.5]), "50.00"),
        (SeedScores(0.5, 0.0, [0.5, 0.5]), "50.00 ± 0.00"),
        (SeedScores(-0.1234567, 0.01, []), "-12.35 ± 1.00"),
    ],
)
def test_a_score_times_a_hundred(score, text):
    assert format_score(score) == text


@pytest.mark.parametrize("task", CORE_TASKS)
def test_every_task_has_a_card(tmp_path, task):
    labels = {"labels": ["a", "b", "c"]} if "classification" in task else {}
    origin = CheckpointOrigin("hf://ann/base@" + "a" * 40, {"license": "mit"})
    written = write_card(tmp_path, origin, task={"task": task, "max_length": 8, **labels})
    head, _, card = written.partition("\n---\n")
    assert card.startswith("# mine, version 7\n\nA BERT ")
    assert f"It started from `{origin.address}`.\n" in card
    metadata = yaml.safe_load(head.removeprefix("---"))
    index = metadata.pop("model-index")[0]
    assert metadata == {
        "pipeline_tag": PIPELINE_TAGS.get(task, "text-classification"),
        "library_name": "keras-bert-edge",
        "base_model": "ann/base",
        "license": "mit",
        "tags": ["onnx", "tflite"],
    }
    assert (index["name"], index["results"][0]["dataset"]["split"]) == ("mine", "test")
    scores = {metric["type"]: metric["value"] for metric in index["results"][0]["metrics"]}
    assert scores == {"accuracy": 0.75, "macro_f1": 0.7}
    assert (": a, b, c. Inputs hold up to 8 tokens." in card) == bool(labels)
    output = "`embedding`: float32 (batch, width)" if task in ("embedding", "retrieval") else "`logits`: float32 (batch"
    assert output in card


CALIBRATION = {
    "temperature": 1.5,
    "validation": {"rows": 40, "calibration_error": [0.1, 0.02]},
    "test": {"rows": 12, "calibration_error": [0.125, 0.03], "kept": {"share": 0.75, "precision": 0.9}},
}


def test_the_card_tells_how_far_probabilities_may_be_believed():
    assert "its score is no\ncalibrated probability.\n" in card_of()
    card = card_of(calibration=CALIBRATION)
    assert "divided by a temperature of 1.5000, found on 40 validation answers of `tflite int8`\n" in card
    assert "calibration error 10.00 -> 2.00 on validation, 12.50 -> 3.00 on test rows.\n" in card
    none = {"temperature": None, "no_temperature": "all are right"}
    without = card_of(calibration=CALIBRATION | none)
    assert "no\ncalibrated probability: all are right,\nso that none is fitted;\n" in without


@pytest.mark.parametrize(
    ("threshold", "line"),
    [
        (
            0.8,
            "not sure below 0.8000, for 95 % of validation answers right: "
            "on test rows 75.00 % are above, of which 90.00 % are right",
        ),
        (None, "no threshold has 95 % of validation answers right"),
    ],
)
def test_a_threshold_is_told_with_what_it_is_worth(threshold, line):
    calibration = CALIBRATION | {"min_precision": 0.95, "threshold": threshold}
    assert calibration_lines(calibration)[1] == line


def test_errors_of_numbers_are_in_their_unit_and_warnings_follow_the_table():
    names = {"spearman": 0.5, "r2": 0.25, "rmse": 1234.56, "mae": 0.0123456}
    row = {"metrics": {name: {"mean": value, "sd": None, "seeds": [value]} for name, value in names.items()}}
    metrics = {
        "task": "regression",
        "kept": 0,
        "rows": {"test": 9},
        "overlap": {"test": {"train": 0, "validation": 0}},
        "shipped": "tflite int8",
        "metric": "spearman",
        "models": {"tflite int8": row},
        "warnings": ["it is below 60.00"],
        "left_out": {"bag of n-grams": "empty vocabulary"},
    }
    card = render_model_card("prices", 1, Metrics.from_json(metrics), {"task": "regression", "max_length": 64}, {})
    assert "x 100; rmse and mae in the unit of the labels." in card
    assert "| tflite int8 | 50.00 | 25.00 | 1235 | 0.01235 |" in card
    lines = "- warning: it is below 60.00\n- bag of n-grams is left out of the table: empty vocabulary\n"
    assert f"|  |  |\n\n{lines}\n## Limits" in card


@pytest.mark.parametrize(
    ("definition", "named"),
    [
        ({"lowercase": True}, "BERT's WordPiece, lowercased and without accents, 2 vocabulary entries (`vocab.txt`)"),
        ({"lowercase": False}, "BERT's WordPiece, with capitals and accents, 2 vocabulary entries"),
        ({"model": {"type": "BPE"}}, "BPE, as RoBERTa's or Gemma's, 2 vocabulary entries"),
        ({"model": {"type": "Unigram"}}, "unigram, as ALBERT's, 2 vocabulary entries"),
    ],
)
def test_the_card_names_the_tokenizer(tmp_path, definition, named):
    assert f"Tokenizer: {named}" in write_card(tmp_path, tokenizer=definition)


def test_the_card_says_whether_rows_are_pairs():
    cards = {pairs: card_of(TASK | {"pairs": pairs}) for pairs in (True, False, None)}
    assert [pairs for pairs, card in cards.items() if "Each row is a pair of texts." in card] == [True]
    assert [pairs for pairs, card in cards.items() if "Each row is a single text" in card] == [False]


def test_the_card_says_how_often_mediapipe_makes_other_ids():
    entry = {"lengths": [64], "weights": "int8", "texts_with_other_ids": 0.0625}
    card = card_of(recipe=RECIPE | {"model_mediapipe.tflite": entry})
    assert "it makes other ids of\n6.2 % of the validation texts" in card
    none = {"model_mediapipe.tflite": entry | {"texts_with_other_ids": 0.0}}
    card = card_of(recipe=RECIPE | none)
    assert "it makes other ids of\n0.0 % of the validation texts" in card, "other texts may have accents"
    assert "MediaPipe keeps accents" not in card_of()


@pytest.mark.parametrize(
    ("quantized", "floats", "line"),
    [
        ("int8", ("tflite float32", "onnx float32"), "tflite float32 and onnx float32: the weights as they were"),
        ("int4", ("onnx float32",), "onnx float32: the weights as they were quantized to int4, written as float32"),
        ("float16", ("onnx float32",), None),
        ("int8", (), None),
    ],
)
def test_the_card_says_which_weights_float_files_hold(quantized, floats, line):
    row = metrics().shipped_model
    models = dict.fromkeys(("student", *floats, f"tflite {quantized}"), row)
    card = render_model_card(
        "reviews", 3, dataclasses.replace(metrics(), models=models, shipped=f"tflite {quantized}"), TASK, RECIPE
    )
    assert ("the weights as they were quantized" in card) == (line is not None)
    assert line is None or f"\n- {line}" in card


def test_the_card_has_the_worst_slices():
    whole = {"kind": "unknown", "value": "0 %", "rows": 12, "score": 0.75, "low": 0.5, "high": 1.0}
    part = {"kind": "source", "value": "<web>", "rows": 10, "score": 0.5, "low": 0.25, "high": 0.75}
    card = card_of(slices=[part, whole])
    assert (
        "The worst parts of the test rows: accuracy of `tflite int8`, x 100, with 95 % intervals.\n\n- source" in card
    )
    assert "- source=&lt;web&gt; of 10 rows: 50.00 (25.00 to 75.00)\n" in card
    assert "unknown" not in card
    assert "The worst parts" not in card_of()


def test_the_card_says_how_many_test_rows_are_nearly_those_of_training():
    near = {"validation": {"train": 4}, "test": {"train": 2, "validation": 0}}
    card = card_of(near_overlap=near)
    claim = (
        "2 of 12 test rows have nearly the texts of training rows (white space and letter case aside): on new texts\n"
    )
    assert claim in card


def test_the_card_tells_apps_what_stands_in_front_of_texts():
    task = {"task": "retrieval", "max_length": 64, "prompts": {"query": "query: ", "passage": "passage: "}}
    card = render_model_card("find", 1, metrics(), task, RECIPE)
    line = '\nPut "passage: " in front of each passage and "query: " in front of each query, as the training did.\n'
    assert line in card
    marked = render_model_card("find", 1, metrics(), {**task, "prompts": {"query": "`<b>\n# [x](http://y.z)"}}, RECIPE)
    assert r'Put "\`&lt;b&gt;\\n# \[x\](http&#58;//y.z)" in front of each query' in marked
    assert "Put " not in render_model_card("find", 1, metrics(), {**task, "prompts": {}}, RECIPE)


def test_the_card_tells_apps_for_microcontrollers_their_arena_and_operators():
    coverage = Coverage(173, 169, 1, {"DIV": 4}, {"KB of arena, at most": 34.752}, ["AddDiv", "AddEthosU"])
    assert describe_coverage("ethos-u55-128", coverage._asdict()) == (
        "ethos-u55-128 (169 of 173 operations; KB of arena, at most: 34.752; operators to register: AddDiv AddEthosU)"
    )
