"""`check`: new rows beside those that a pushed model learnt from; its exit status is the verdict."""

import dataclasses
import json
import os

import pytest

from components.scoring.calibration import calibrate
from components.scoring.registry import TASK_SCORING
from components.sources.table import TableSource
from keras_bert.tasks.classification import Classification
from keras_bert.tokenizers.eager import EagerWordPiece
from keras_bert.tokenizers.wordpiece_vocabulary import SPECIAL_TOKENS
from pipeline.cli import main
from plugins.late_interaction.rows import LateInteractionSource
from plugins.open_labels.rows import OpenLabelsSource
from plugins.sparse.rows import SparseSource
from tests.components.labelled_rows import schema_of
from tests.pipeline.command_line import refused, said
from tests.pipeline.draft.tiny_rows import WORDS, write_reviews
from tests.pipeline.table_tasks import make_task

TOKENIZER = EagerWordPiece([*SPECIAL_TOKENS, *WORDS], lowercase=True)


@pytest.fixture
def model(tmp_path):
    """The files of a pushed model that the command reads; the rows are those of `write_reviews`."""
    folder = tmp_path / "model"
    folder.mkdir()
    TOKENIZER.save(folder)
    source = TableSource(str(write_reviews(tmp_path)), text="review", label="kind")
    schema = schema_of(source.splits()["train"], source, 16, TOKENIZER)
    (folder / "schema.json").write_text(json.dumps(dataclasses.asdict(schema)))
    return folder


def test_rows_like_those_of_training(tmp_path, model, capfd):
    printed = said(capfd, "check", tmp_path / "reviews.csv", "--against", model)
    assert "60 rows beside 60 training rows" in printed
    assert "the rows look like those that the model learnt from" in printed
    assert "differs" not in printed


def test_planted_changes_have_status_3(tmp_path, model, capfd):
    rows = tmp_path / "new.csv"
    rows.write_text((tmp_path / "reviews.csv").read_text().replace(",animal", ",[fish]").replace("cow", "да"))
    assert main(["check", str(rows), "--against", str(model)]) == 3
    printed = capfd.readouterr().out
    names = "labels, label shares, scripts, unknown tokens, words not in training rows"
    assert f"the rows differ from those that the model learnt from: {names}" in printed
    assert "new: [fish]" in printed
    assert "new: Cyrillic" in printed


def test_rows_of_one_of_several_tasks(tmp_path, model, capfd):
    command = ("check", tmp_path / "reviews.csv", "--against", model)
    assert refused(capfd, *command, "--task", "mood") == ("--task must be left out for a model of one task, got mood")
    schema = json.loads((model / "schema.json").read_text())
    (model / "schema.json").write_text(json.dumps({"tasks": {"mood": schema, "names": {}}}))
    assert "the rows look like those" in said(capfd, *command, "--task", "mood")
    assert refused(capfd, *command) == "--task must be one of mood, names, got none"


def test_rows_without_labels(tmp_path, model, capfd):
    rows = tmp_path / "new.csv"
    rows.write_text((tmp_path / "reviews.csv").read_text().replace("kind", "page"))
    assert "60 rows without labels beside 60 training rows" in said(capfd, "check", rows, "--against", model)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "--against must be the folder of a pushed model with schema.json, got {model}: No such file"),
        ("{", "{model}/schema.json must hold JSON, got an error: "),
        ("[]", "{model}/schema.json must hold the schema of labelled rows, got an error: "),
    ],
)
def test_models_without_a_schema_are_refused(tmp_path, model, capfd, content, message):
    (model / "schema.json").unlink()
    if content is not None:
        (model / "schema.json").write_text(content)
    line = refused(capfd, "check", tmp_path / "reviews.csv", "--against", model)
    assert line.startswith(message.format(model=model))


@pytest.fixture
def sure_model(tmp_path, model, monkeypatch):
    """The model with a file that knows four words, calibrated on the rows of `write_reviews`."""
    numbers = {"cow": [2.0, 0.0], "hen": [4.0, 0.0], "oak": [0.0, 1.0], "the": [0.0, 3.0]}
    task = make_task(Classification, numbers, labels=["animal", "plant"])

    def load(folder):
        os.write(2, b"INFO: what a runtime says as it opens a file\n")
        return task

    monkeypatch.setattr("keras_bert.export.bundle.load_exported", load)
    rows = TableSource(str(tmp_path / "reviews.csv"), text="review", label="kind").splits()["train"]
    calibration = calibrate(TASK_SCORING["classification"].logits(task, rows), task.labels, None)
    (model / "metrics.json").write_text(json.dumps({"calibration": calibration}))
    return model


def test_confidences_like_those_for_validation_rows(tmp_path, sure_model, capfd):
    assert main(["check", str(tmp_path / "reviews.csv"), "--against", str(sure_model)]) == 0
    printed = capfd.readouterr()
    assert printed.err == ""
    (line,) = (line for line in printed.out.splitlines() if "confidences" in line)
    assert "PSI 0.000" in line
    assert "as before" in line


@pytest.mark.parametrize("labels", [",animal", ",fish"])
def test_planted_doubt_has_status_3(tmp_path, sure_model, capfd, labels):
    rows = tmp_path / "new.csv"
    text = (tmp_path / "reviews.csv").read_text().replace(",animal", labels)
    rows.write_text(text.replace("cow", "owl").replace("oak", "elm").replace("hen", "fox").replace(" the", " one"))
    assert main(["check", str(rows), "--against", str(sure_model)]) == 3
    printed = capfd.readouterr().out
    (line,) = (line for line in printed.splitlines() if line.startswith("│ confidences"))
    assert "differs" in line
    assert "confidences" in printed.splitlines()[-1]


@pytest.mark.parametrize("content", [None, {"calibration": None}])
def test_models_without_probabilities_leave_confidences_out(tmp_path, sure_model, capfd, content):
    (sure_model / "metrics.json").unlink()
    if content is not None:
        (sure_model / "metrics.json").write_text(json.dumps(content))
    assert said(capfd, "check", tmp_path / "reviews.csv", "--against", sure_model).count("confidences") == 0


def test_damaged_metrics_are_refused(tmp_path, sure_model, capfd):
    (sure_model / "metrics.json").write_text('{"calibration": {"temperature": null}}')
    line = refused(capfd, "check", tmp_path / "reviews.csv", "--against", sure_model)
    assert line.endswith(f"whose confidences can be compared, got {sure_model}: the entry 'confidences' is missing")


def test_rows_of_labels_as_data(tmp_path, model, capfd):
    source = OpenLabelsSource(str(write_reviews(tmp_path)), text="review", label="kind")
    schema = schema_of(source.splits()["train"], source, 16, TOKENIZER)
    (model / "schema.json").write_text(json.dumps(dataclasses.asdict(schema)))
    rows = tmp_path / "new.csv"
    rows.write_text((tmp_path / "reviews.csv").read_text())
    assert "the rows look like those" in said(capfd, "check", rows, "--against", model)
    rows.write_text(rows.read_text().replace(",animal", ",fish"))
    assert main(["check", str(rows), "--against", str(model)]) == 3
    assert "new: fish" in capfd.readouterr().out


@pytest.mark.parametrize("source", [SparseSource, LateInteractionSource])
def test_rows_of_other_kinds_of_retrieval(tmp_path, model, capfd, source):
    lines = [json.dumps({"query": f"cow {word}", "passage": f"old {word}"}) for word in WORDS * 4]
    (tmp_path / "train.jsonl").write_text("\n".join(lines))
    rows = source(str(tmp_path / "train.jsonl"))
    schema = schema_of(rows.splits()["train"], rows, 16, TOKENIZER)
    (model / "schema.json").write_text(json.dumps(dataclasses.asdict(schema)))
    assert "the rows look like those" in said(capfd, "check", tmp_path / "train.jsonl", "--against", model)
