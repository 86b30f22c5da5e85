"""Optuna's storage behind a search: what it says where Optuna is missing, and where its file cannot be used."""

import contextlib
import sqlite3
import sys

import pytest

from components.dsl.errors import InputError
from plugins.search.space import Dimension
from plugins.search.study import STUDIES_FILE, Study, storage_errors_as_input_errors
from tests.pipeline.command_line import refused
from tests.pipeline.settings.texts import CHECKPOINT, EXAMPLES

RATE = Dimension.of("fine_tuning.learning_rate", (1e-5, 1e-3), 1e-4)
SIZE = Dimension.of("fine_tuning.batch_size", (32, 16), 32)


def open_study(folder, name="teacher"):
    return Study(folder, name, (RATE, SIZE), "tpe")


def test_without_optuna_one_line_names_what_to_install(tmp_path, monkeypatch, capfd):
    monkeypatch.setitem(sys.modules, "optuna", None)
    (tmp_path / "job.toml").write_text(CHECKPOINT + EXAMPLES)
    line = refused(capfd, "search", tmp_path / "job.toml", "--root", tmp_path / "root")
    assert line == "a search for settings needs Optuna, which is not installed: pip install 'optuna>=5.0'"
    assert not (tmp_path / "root").exists()


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        (CHECKPOINT + EXAMPLES, ["--trials", "0"], "--trials must be at least 1, got 0"),
        (
            CHECKPOINT + "[corpus]\npath = 'texts'\n",
            [],
            "there must be [examples] to search settings or a model for",
        ),
        (
            f"seeds = 2\n{CHECKPOINT}{EXAMPLES}[student]\nnum_layers = 1\n[distillation]\nteachers = 'seeds'\n",
            ["--max-megabytes", "3"],
            "distillation.teachers must be 'own' for a search, whose students have one teacher each, got 'seeds'; "
            "search with --set distillation.teachers=own",
        ),
        (
            CHECKPOINT + EXAMPLES + "validation = 'dev.tsv'\ntest = 'dev.tsv'\n",
            [],
            "examples.validation must not be the test rows, on which nothing may be chosen, got {folder}/dev.tsv",
        ),
    ],
)
def test_bad_input_is_refused_in_one_line(tmp_path, capfd, text, arguments, message):
    (tmp_path / "job.toml").write_text(text)
    line = refused(capfd, "search", tmp_path / "job.toml", "--root", tmp_path / "root", *arguments)
    assert line == message.format(folder=tmp_path)
    assert not (tmp_path / "root").exists()


@pytest.mark.search
def test_a_stopped_trial_goes_on_with_its_values_and_validations(tmp_path):
    trial = open_study(tmp_path).propose()
    trial.report([0.5])
    again = open_study(tmp_path).propose()
    assert (again.number, again.values) == (trial.number, trial.values)
    again.report([0.5, 0.6])
    again.end("done", {"step": 2.0}, 0.7)
    (only,) = open_study(tmp_path).trials()
    assert (only.state, only.score, only.validations, only.seconds) == ("done", 0.7, (0.5, 0.6), 2.0)
    assert open_study(tmp_path, "student").trials() == []


@pytest.mark.search
def test_a_trial_whose_values_are_incomplete_is_no_trial(tmp_path):
    study = open_study(tmp_path)
    study._study.ask({RATE.name: study._distributions()[RATE.name]})
    trial = open_study(tmp_path).propose()
    assert trial.values.keys() == {RATE.name, SIZE.name}
    assert trial.number == 1


@pytest.mark.search
def test_a_median_needs_some_trials(tmp_path):
    study = open_study(tmp_path)
    study.add_baseline(0.8, [0.7, 0.8])
    study.add_baseline(0.8, [0.7, 0.8])
    states = []
    for score in (0.5, 0.6, 0.7, 0.8, 0.1, 0.9):
        trial = study.propose()
        is_pruned = trial.report([score])
        states.append(is_pruned)
        trial.end("pruned" if is_pruned else "done", {}, score)
    assert states == [False, False, False, False, True, False], "the job's own settings count as one"
    assert [trial.number for trial in study.trials()] == [1, 2, 3, 4, 5, 6]


@pytest.mark.search
def test_a_file_that_is_no_storage_is_refused_in_one_line(tmp_path):
    (tmp_path / STUDIES_FILE).write_bytes(b"no database" * 1000)
    rule = (
        rf"^{tmp_path}/{STUDIES_FILE} must be a file that can be read and written, got: .*; move it away to start over$"
    )
    with pytest.raises(InputError, match=rule), storage_errors_as_input_errors(tmp_path, tmp_path):
        open_study(tmp_path)


@pytest.mark.search
@pytest.mark.parametrize(
    ("table", "change"),
    [
        ("trial_user_attributes", "value_json = '{'"),
        ("trial_user_attributes", "key = key || 'x'"),
        ("trial_params", "distribution_json = '[]'"),
        ("trials", "datetime_start = 'noon'"),
        ("trials", "state = 'LOST'"),
        ("trials", "number = 7"),
    ],
)
def test_a_damaged_trial_is_refused_in_one_line(tmp_path, table, change):
    trial = open_study(tmp_path).propose()
    trial.end("done", {"step": 2.0}, 0.7)
    with contextlib.closing(sqlite3.connect(tmp_path / STUDIES_FILE)) as connection, connection:
        connection.execute(f"UPDATE {table} SET {change}")
    rule = "must hold studies that this version of Optuna can read"
    with pytest.raises(InputError, match=rf"^{tmp_path}/{STUDIES_FILE} {rule}, got: .*; move it away to start over$"):
        open_study(tmp_path)


@pytest.mark.search
def test_a_folder_with_signs_of_a_url(tmp_path):
    folder = tmp_path / "a?b=c%20d#e"
    folder.mkdir()
    assert open_study(folder).propose() is not None
    assert [file.name for file in folder.iterdir()] == [STUDIES_FILE]
