"""The wiring of comparisons, costs and ladders: which steps they share with the job, and which they leave out."""

import dataclasses
from pathlib import Path

import pytest

from keras_bert.options.training import Training
from pipeline.pipelines import build_pipeline
from plugins.compare.wiring import comparison_pipeline, cost_pipeline, ladder_pipeline
from tests.pipeline.settings.texts import CHECKPOINT, CORPUS, EXAMPLES, load
from tests.pipeline.test_chains import GENERAL
from tests.pipeline.test_pipelines import (
    CHECKPOINT_AND_CORPUS,
    FITTED,
    FROM_BOTH,
    FROM_CHECKPOINT,
    FROM_CORPUS,
    QUANTIZATION,
    STUDENT,
    check_one_student,
    reads,
    values,
)


def test_tasks_are_compared_without_a_student_or_files(tmp_path):
    start = load(tmp_path, CHECKPOINT + EXAMPLES + STUDENT + QUANTIZATION, "name=mine")
    two = load(tmp_path, CHECKPOINT + EXAMPLES, "seeds=2", "max_length=64")
    pipeline = comparison_pipeline(start, {"a": start, "b": two})[0]
    assert pipeline.name == "mine"
    assert reads(pipeline) == {
        "import_checkpoint": set(),
        "read_examples-a": set(),
        "read_examples-b": set(),
        "ingest_examples-a": {"import_checkpoint", "read_examples-a"},
        "ingest_examples-b": {"import_checkpoint", "read_examples-b"},
        "fine_tune-a": {"import_checkpoint", "ingest_examples-a"},
        "fine_tune-b-0": {"import_checkpoint", "ingest_examples-b"},
        "fine_tune-b-1": {"import_checkpoint", "ingest_examples-b"},
        "evaluate-a": {"fine_tune-a", "ingest_examples-a"},
        "evaluate-b": {"fine_tune-b-0", "fine_tune-b-1", "ingest_examples-b"},
    }
    parameters = values(pipeline)
    assert [parameters[f"ingest_examples-{task}"]["max_length"] for task in "ab"] == [128, 64]
    assert parameters["import_checkpoint"]["max_length"] == 128


def test_a_comparison_without_tasks_ends_with_pre_training(tmp_path):
    assert reads(comparison_pipeline(load(tmp_path, CORPUS), {})[0]) == FROM_CORPUS


def test_a_comparison_shares_its_steps_with_the_whole(tmp_path):
    settings = load(tmp_path, CHECKPOINT_AND_CORPUS + EXAMPLES + STUDENT, "seeds=2")
    compared, all_steps = (
        values(comparison_pipeline(settings, {"mine": settings})[0]),
        values(build_pipeline(settings, Path("root"))),
    )
    for name in FROM_BOTH:
        assert compared[name] == all_steps[name]
    for name in ("ingest_examples", "fine_tune-0", "fine_tune-1"):
        step, _, seed = name.partition("-")
        assert compared[f"{step}-mine-{seed}".rstrip("-")] == all_steps[name]


@pytest.mark.parametrize(("start", "steps"), [(CORPUS, FROM_CORPUS), (CHECKPOINT_AND_CORPUS, FROM_BOTH)])
def test_a_step_is_measured_in_the_place_of_pre_training(tmp_path, start, steps):
    settings = load(tmp_path, start + EXAMPLES, "pretraining.steps=7", "pretraining.batch_size=8")
    pipeline = cost_pipeline(settings, {"mine": settings}, timed=False)[0]
    vocabulary = "build_vocabulary" if start == CORPUS else "import_checkpoint"
    expected = {name: parameters for name, parameters in steps.items() if name != "pretrain"}
    rows = {
        "read_examples-mine": set(),
        "ingest_examples-mine": {vocabulary, "read_examples-mine", "ingest_corpus"},
    }
    assert reads(pipeline) == expected | {"measure_step": steps["pretrain"], **rows}
    parameters, trained = values(pipeline), values(comparison_pipeline(settings, {})[0])["pretrain"]
    assert parameters["measure_step"]["encoder"] == trained["encoder"]
    assert parameters["measure_step"]["training"] == Training(batch_size=8), "of the training no more than counts"
    timed = values(cost_pipeline(settings, {}, timed=True)[0])["measure_step"]
    assert timed["training"] == dataclasses.replace(trained["training"], steps=None), "whatever the budget was"
    assert timed["timed"]


def test_each_task_that_is_compared_has_a_fitted_vocabulary_of_its_own(tmp_path):
    plain = load(tmp_path, CHECKPOINT + EXAMPLES)
    without_a_corpus = reads(cost_pipeline(plain, {"mine": plain}, timed=True)[0])
    rows = {"read_examples-mine": set(), "ingest_examples-mine": {"import_checkpoint", "read_examples-mine"}}
    assert without_a_corpus == FROM_CHECKPOINT | rows
    fitted = load(tmp_path, CHECKPOINT + EXAMPLES + FITTED)
    inputs = reads(comparison_pipeline(plain, {"a": plain, "b": fitted})[0])
    assert inputs["fine_tune-a"] == {"import_checkpoint", "ingest_examples-a"}
    assert inputs["fine_tune-b"] == {"fit_vocabulary-b", "ingest_examples-b"}
    assert inputs["fit_vocabulary-b"] == {"import_checkpoint", "ingest_examples-whole-b"}
    assert reads(cost_pipeline(plain, {"b": fitted}, timed=False)[0]).keys() == {
        "import_checkpoint",
        "read_examples-b",
        "ingest_examples-whole-b",
    }


def test_what_has_no_student_makes_none(tmp_path):
    settings = load(tmp_path, CHECKPOINT + EXAMPLES + STUDENT + GENERAL + "[quantization]\n")
    assert "distill_general" not in reads(comparison_pipeline(settings, {"a": settings})[0])
    assert "distill_general" not in reads(ladder_pipeline(settings, {"quantization": ("quantization",)}, (8,))[0])
    rungs = {"student": ("student",), "both": ("student", "quantization")}
    both = reads(ladder_pipeline(settings, rungs, (8,))[0])
    assert both["distill"] == {
        "fine_tune",
        "ingest_examples",
        "distill_general",
    }


def test_one_student_of_all_teachers_is_that_of_the_job_for_every_command(tmp_path):
    text = CHECKPOINT + EXAMPLES + STUDENT + "[quantization]\n[distillation]\nteachers = 'seeds'\n"
    settings = load(tmp_path, text, "seeds=3")
    ladder = reads(ladder_pipeline(settings, {"teacher": (), "student": ("student",)}, (8,))[0])
    check_one_student(ladder, settings)
    assert ladder["evaluate-teacher"] > {f"fine_tune-{seed}" for seed in range(3)}


@pytest.mark.usefixtures("stand_in_accelerators")
def test_the_files_of_rungs_are_for_no_chip(tmp_path):
    settings = load(tmp_path, CHECKPOINT + EXAMPLES + "[quantization]\n[export]\naccelerators = ['engine']\n")
    parameters = values(ladder_pipeline(settings, {"teacher": (), "quantization": ("quantization",)}, (8,))[0])
    exports = [given["export"] for name, given in parameters.items() if name.startswith("export_model")]
    assert exports == [dataclasses.replace(settings.export, accelerators=())] * 2
