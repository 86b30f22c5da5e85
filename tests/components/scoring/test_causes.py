"""The likely causes of a refused model, each with its figure."""

import dataclasses
import json

import pytest

from components.artifacts.standard import Model, TaskExamples
from components.scoring.causes import find_causes
from components.sources.table import TableSource, TextRow
from keras_bert.tokenizers.eager import EagerWordPiece
from keras_bert.tokenizers.wordpiece_vocabulary import SPECIAL_TOKENS
from tests.components.labelled_rows import schema_of

VOCABULARY = [*SPECIAL_TOKENS, "cow", "##s", "hen"]
ROWS = [TextRow(" ".join(["cow"] * (1 + row)), f"label {row % 24}") for row in range(72)]


def write_artifacts(folder, history, text="", **description):
    examples, model = TaskExamples(folder / "examples"), Model(folder / "model")
    for artifact in (examples, model):
        artifact.path.mkdir()
    rows = [row._replace(text=text) for row in ROWS] if text else ROWS
    schema = schema_of(rows, TableSource(train="x.csv"), 16, EagerWordPiece(VOCABULARY, lowercase=True))
    examples.file("schema.json").write_text(json.dumps(dataclasses.asdict(schema)))
    examples.file("features.json").write_text(json.dumps({"task": "classification", **description}))
    model.file("history.jsonl").write_text("".join(f"{json.dumps(entry)}\n" for entry in history))
    return examples, model


LEARNT = [{"step": 100.0 * entry, "loss": 0.3} for entry in range(1, 9)]


@pytest.mark.parametrize(
    ("history", "text", "description", "cause"),
    [
        (LEARNT, "", {}, None),
        (
            LEARNT,
            "",
            {"truncated_share": {"train": 0.8056}},
            "80.6 % of training rows have more than max_length = 16 tokens (median: up to 38) and are truncated; raise "
            "max_length",
        ),
        (
            [{"step": 100.0 * entry, "loss": 3.0 / entry} for entry in range(1, 9)],
            "",
            {},
            "the training loss still fell, from 0.55 to 0.402 in the last half of 800 steps; raise fine_tuning.epochs "
            "or learning_rate",
        ),
        (
            [{"step": 90.0, "loss": 3.0}],
            "",
            {},
            "a head of 24 labels had only 90 steps; raise fine_tuning.epochs",
        ),
        (
            [*LEARNT[:-1], {"step": 800.0, "loss": 0.3, "validation_loss": 1.2}],
            "",
            {},
            "the validation loss 1.2 is far above the training loss 0.3; add rows, or lower fine_tuning.epochs",
        ),
        (
            LEARNT,
            "cowss hens",
            {},
            "the vocabulary needs 2.50 tokens a word; choose a checkpoint of the texts' language",
        ),
    ],
)
def test_a_cause_has_a_figure_and_a_way_out(tmp_path, history, text, description, cause):
    examples, model = write_artifacts(tmp_path, history, text, **description)
    assert find_causes(examples, model) == ([] if cause is None else [cause])


def test_a_fitted_head_needs_no_steps_to_learn_its_labels(tmp_path):
    examples, model = write_artifacts(tmp_path, [{"step": 90.0, "loss": 3.0}])
    model.file("frozen_head.npz").touch()
    assert not find_causes(examples, model)
