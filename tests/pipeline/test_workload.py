"""A guess at the duration of a job that never ran follows its trainings; a job without one says so."""

import itertools
import json
import re
from functools import partial

import pytest

from pipeline import workload
from pipeline.cli import main
from pipeline.job.files import load_settings
from pipeline.workload import (
    EncoderSize,
    RowLengths,
    TimeGuess,
    TrainingWork,
    estimate_seconds,
    guess_seconds,
    list_trainings,
)
from tests.pipeline.command_line import said
from tests.pipeline.draft.tiny_rows import write_checkpoint, write_label_lists, write_reviews

SIZE = EncoderSize(4, 32, 64)


@pytest.fixture
def slow_machine(monkeypatch):
    monkeypatch.setattr(workload, "time_product", lambda: TimeGuess(1000.0, 2000.0))


def load_job(folder, **overrides):
    """A job of 60 reviews with a student of half the layers."""
    write_checkpoint(folder / "checkpoint")
    tables = {
        "checkpoint.path": str(folder / "checkpoint"),
        "examples": {"train": str(write_reviews(folder)), "text": "review", "label": "kind"},
        "max_length": 16,
        "fine_tuning": {"epochs": 2.0, "batch_size": 10},
        "student.num_layers": 2,
        "distillation": {"steps": 7, "batch_size": 10},
        **overrides,
    }
    job = folder / "job.toml"
    job.write_text("\n".join(f"{key} = {_as_toml(value)}" for key, value in tables.items()))
    return load_settings(job)


def _as_toml(value):
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {_as_toml(content)}" for key, content in value.items()) + "}"
    return json.dumps(value)


def test_flops_of_a_forward_pass_equal_those_of_its_products():
    tokens, width, inner = 8, 4, 16
    kernels = 2 * tokens * (4 * width * width + 2 * width * inner)
    scores_and_values = 2 * 2 * tokens * tokens * width
    assert EncoderSize(3, width, inner).flops(tokens) == 3 * (kernels + scores_and_values)


def test_a_backward_pass_costs_two_forward_ones_and_a_teacher_one_of_its_own():
    student = SIZE._replace(layers=2)
    alone, taught = TrainingWork(10.0, 8.0, student), TrainingWork(10.0, 8.0, student, SIZE)
    assert alone.flops() == 10 * 3 * student.flops(8.0)
    assert taught.flops() - alone.flops() == 10 * SIZE.flops(8.0)


def test_the_estimate_grows_with_the_work(slow_machine):
    work = TrainingWork(100.0, 8.0, SIZE)
    fixed = estimate_seconds([]).now
    assert estimate_seconds([]).alone == fixed
    assert estimate_seconds([work, work]).now - fixed == pytest.approx(2 * (estimate_seconds([work]).now - fixed))
    assert estimate_seconds([work]).now - fixed == pytest.approx(2 * (estimate_seconds([work]).alone - fixed))
    assert estimate_seconds([work]).alone > fixed


@pytest.mark.parametrize(("used", "is_busy"), [(20.0, False), (30.0, True)])
def test_a_busy_machine_has_two_speeds(monkeypatch, used, is_busy):
    """Products of 2 s on one thread; each of the 4 cores would take 0.5 s."""
    for name in ("perf_counter", "process_time"):
        monkeypatch.setattr(workload.time, name, partial(next, itertools.count(step=2.0)))
    monkeypatch.setattr(workload.psutil, "cpu_percent", lambda _: used)
    monkeypatch.setattr(workload, "usable_processors", lambda: 4)
    # Beneath the cache of the tests.
    assert workload.time_product.__wrapped__() == (0.5, 2.0 if is_busy else 0.5)


def test_trainings_follow_the_settings(tmp_path):
    settings = load_job(tmp_path, quantization={"epochs": 1.0, "batch_size": 10}, seeds=2)
    works = list_trainings(settings)
    assert works is not None
    student, rows = SIZE._replace(layers=2), 60
    assert [(work.rows, work.encoder, work.teacher) for work in works] == 2 * [
        (2 * rows, SIZE, None),
        (70, student, SIZE),
        (rows, student, student),
    ]
    assert {work.tokens for work in works} == {works[0].tokens}
    assert 6 <= works[0].tokens <= 9, "four to seven words, and two special tokens"


def test_truncated_rows_take_the_time_of_what_is_read():
    lengths = [727] * 3
    assert RowLengths.of_tokens(lengths, 1028, 64, "classification") == (1028, 64)
    assert RowLengths.of_tokens(lengths, 1028, 64, "question_answering") == (1028 * 727 / 64, 64)


def test_one_student_of_all_teachers_trains_once(tmp_path):
    distillation = {"steps": 7, "batch_size": 10, "teachers": "seeds"}
    works = list_trainings(load_job(tmp_path, distillation=distillation, seeds=3))
    assert [work.rows for work in works or ()] == [120, 120, 120, 70]


def test_what_follows_from_rows_that_do_not_exist_yet_is_not_guessed(tmp_path):
    settings = load_job(tmp_path)
    assert guess_seconds(settings) is not None
    assert guess_seconds(settings.model_copy(update={"examples": None})) is None
    assert guess_seconds(settings.model_copy(update={"checkpoint": None})) is None
    (tmp_path / "reviews.csv").unlink()
    assert guess_seconds(settings) is None


def test_a_dry_run_in_a_new_root_guesses(tmp_path, capsys, slow_machine):
    load_job(tmp_path)
    run = ["run", str(tmp_path / "job.toml"), "--root", str(tmp_path / "root"), "--dry-run"]
    assert main(run) == 0
    assert re.search(
        r"time: about \d+ to \d+ minutes \(this machine is busy\) for the whole job, a guess", capsys.readouterr().out
    )
    assert "time: no estimate, as this job ran none of these steps" in said(capsys, *run, "--to", "fine_tune")
    assert not (tmp_path / "root").exists()


def test_lists_of_labels_are_guessed_as_well(tmp_path):
    rows = {"task": "multi_label", "train": str(write_label_lists(tmp_path)), "label": "labels"}
    assert len(list_trainings(load_job(tmp_path, examples=rows)) or []) == 2
