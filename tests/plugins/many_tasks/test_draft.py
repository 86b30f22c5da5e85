"""`init` with the rows of several tasks: a job that `run` accepts; wrong input is one line that names what to write."""

import dataclasses
import json
import re

import pytest

from keras_bert.options.tables import FineTuningSettings, PruningSettings
from pipeline.cli import main
from pipeline.job.files import load_settings
from pipeline.views.terminal import format_minutes
from pipeline.workload import guess_seconds
from tests.pipeline import test_workload
from tests.pipeline.command_line import refused, said
from tests.pipeline.draft.tiny_rows import (
    make_texts,
    topic,
    write_checkpoint,
    write_columns,
    write_numbers,
    write_text_pairs,
)
from tests.pipeline.draft.tiny_rows import write_reviews as write_moods


@pytest.fixture
def folder(tmp_path):
    write_checkpoint(tmp_path / "model")
    write_moods(tmp_path)
    write_columns(tmp_path)
    write_numbers(tmp_path)
    return tmp_path


def draft(folder, capfd, *rows):
    """The settings of the job that `init` writes, and what it prints."""
    arguments = [f"{name}={folder / value}" for name, value in (row.split("=") for row in rows)]
    out = folder / "notes.toml"
    printed = said(capfd, "init", *arguments, "--checkpoint", folder / "model", "--out", out, "--overwrite")
    return load_settings(out), printed


slow_machine = test_workload.slow_machine


def test_rows_of_three_tasks_are_one_job_that_run_accepts(folder, capfd):
    settings, printed = draft(folder, capfd, "mood=reviews.csv", "price=numbers.jsonl", "names=names.conll")
    assert settings.name == "notes"
    tasks = {name: table.examples.task for name, table in settings.tasks.items()}
    assert tasks == {"mood": "classification", "names": "token_classification", "price": "regression"}
    assert (settings.fine_tuning.epochs, settings.student.num_layers, settings.sharing) == (10.0, 2, None)
    assert settings.quantization.recipe == "dynamic_wi8"
    assert "mood: 2 labels: 'animal'" in printed
    assert 'train = "names.conll"' in (folder / "notes.toml").read_text()  # a folder with its job can be moved
    planned = said(capfd, "run", folder / "notes.toml", "--dry-run", "--root", folder / "root")
    assert "distill_together" in planned
    assert re.search(r"time: about \d+ (seconds|minutes?) .*for the whole job, a guess", planned)
    for steps in (
        {"fine_tuning": FineTuningSettings(steps=9)},
        {"pruning": PruningSettings(steps=9)},
        {"quantization": dataclasses.replace(settings.quantization, steps=9)},
    ):
        assert guess_seconds(settings.model_copy(update=steps)) is None, "the steps are those of all tasks"


def test_the_time_is_that_of_a_dry_run(folder, capfd, slow_machine):
    """New pairs of the single draft and its own epochs are not those of the joint job."""
    write_text_pairs(folder)
    rows = [{"text": text, "label": topic(text)} for text in make_texts(2500, seed=1)]
    (folder / "many.jsonl").write_text("\n".join(map(json.dumps, rows)))
    settings, printed = draft(folder, capfd, "alike=pairs.tsv", "large=many.jsonl")
    time = format_minutes(*guess_seconds(settings))
    assert f"time on this machine: about {time}" in printed
    written = " ".join((folder / "notes.toml").read_text().replace("\n#", "").split())
    assert f": about {time}, from its speed" in written
    planned = said(capfd, "run", folder / "notes.toml", "--dry-run", "--root", folder / "root")
    assert f"time: about {time} for the whole job" in planned


def test_unequal_rows_are_counted(folder, capfd):
    """Of 250 and 60 rows a single job of each would have as many epochs."""
    rows = [{"text": text, "label": topic(text)} for text in make_texts(250, seed=1)]
    for count, temperature in ((250, 2.0), (200, None)):
        (folder / "more.jsonl").write_text("\n".join(map(json.dumps, rows[:count])))
        sharing = draft(folder, capfd, "mood=reviews.csv", "more=more.jsonl")[0].sharing
        assert (sharing and sharing.temperature) == temperature


def test_a_pattern_with_an_equals_sign_is_no_task(folder, capfd, monkeypatch):
    (folder / "year=2024").mkdir()
    (folder / "reviews.csv").rename(folder / "year=2024" / "reviews.csv")
    monkeypatch.chdir(folder)
    said(capfd, "init", "year=2024/*.csv", "--checkpoint", folder / "model", "--out", folder / "one.toml")
    assert load_settings(folder / "one.toml").examples.label == "kind"


def test_the_largest_task_decides_and_small_ones_come_more_often(folder, capfd):
    rows = [{"text": text, "label": topic(text)} for text in make_texts(2500, seed=1)]
    for row in rows[:100]:
        row["text"] = " ".join([row["text"]] * 4)
    (folder / "many.jsonl").write_text("\n".join(map(json.dumps, rows)))
    rare = [f"{text},{'rare' if place < 10 else topic(text)}" for place, text in enumerate(make_texts(300, seed=2))]
    (folder / "rare.csv").write_text("\n".join(["text,label", *rare]))
    settings, _ = draft(folder, capfd, "rare=rare.csv", "large=many.jsonl")
    assert settings.fine_tuning.epochs < 10
    assert settings.sharing.temperature == 2
    assert settings.tasks["large"].max_length is None
    assert settings.tasks["rare"].max_length < settings.max_length
    assert 'class_weights = "none"' in (folder / "notes.toml").read_text().split("[tasks.rare]")[1]


def test_tables_for_few_rows_are_for_single_jobs(folder, capfd):
    reviews = (folder / "reviews.csv").read_text().splitlines()
    (folder / "few.csv").write_text("\n".join(reviews[:20]))
    settings, printed = draft(folder, capfd, "few=few.csv")
    assert settings.few_shot is None
    assert "few: a job of this task alone would have other tables, as it has few rows of a label" in printed
    settings, _ = draft(folder, capfd, "few=few.csv", "price=numbers.jsonl")
    assert settings.fine_tuning.epochs == 10


def test_keys_of_a_task_stand_for_options(folder, capfd):
    moods = folder / "reviews.csv"
    arguments = ["init", f"mood={moods}", "mood.text=review", "mood.label=id", f"mood.test={moods}"]
    arguments += ["mood.task=regression", f"names={folder / 'names.conll'}", "--checkpoint", str(folder / "model")]
    assert main([*arguments, "--name", "two", "--out", str(folder / "job.toml")]) == 0
    settings = load_settings(folder / "job.toml")
    mood = settings.tasks["mood"].examples
    assert (settings.name, mood.task, mood.label, mood.test) == ("two", "regression", "id", str(moods))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (["mood={m}", "mood={p}"], "ROWS must have different names for its tasks and their keys, got mood=... twice"),
        (["mood={m}", "mood.label=id", "mood.label=kind"], "ROWS must have different names for its tasks and their"),
        (
            ["Mood={m}"],
            "the name of a task in ROWS must be of small letters, digits and underscores, and none of serve",
        ),
        (["serve={m}"], "the name of a task in ROWS must be of small letters, digits and underscores, and none of "),
        (["mood={m}", "price=none.csv"], "task price: the rows must be a file or a folder that exists, got "),
        (["mood={m}", "{p}"], "ROWS must be NAME=ROWS for each of several tasks, got '{p}'; put its name before it"),
        (["{m}", "{p}"], "ROWS must be one table, or NAME=ROWS for each task, got {m} {p}"),
        (["mood={m}", "mood.labl=kind"], "mood.labl in ROWS must be one of the options of a table; did you mean 'la"),
        (["mood.label=kind", "price={p}"], "ROWS must have mood=ROWS, the rows of the task, got only mood.label=..."),
        (["mood={m}", "--label", "kind"], "--label must be left out where ROWS names tasks; add mood.label=VALUE to R"),
        (
            ["mood={m}", "mood.task=regresion"],
            "mood.task must be the name of a task, got 'regresion'; did you mean 're",
        ),
        (["mood={m}", "mood.second=id"], "mood.text must be given beside mood.second, got only mood.second=id"),
        (["mood={m}", "mood.label=kinds"], "task mood: mood.label must be the name of one column of {m}, got 'kinds'"),
        (["mood={m}", "mood.task=regression"], "task mood: mood.task=regression needs numbers in column 'kind'"),
    ],
)
def test_wrong_input_is_one_clear_line(folder, capfd, rows, message):
    files = {"m": folder / "reviews.csv", "p": folder / "numbers.jsonl"}
    arguments = [row.format(**files) for row in rows]
    line = refused(capfd, "init", *arguments, "--checkpoint", folder / "model", "--out", folder / "job.toml")
    assert line.startswith(message.format(**files))
    assert not (folder / "job.toml").exists()
