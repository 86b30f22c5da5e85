"""What students begin with, and which of their steps seeds and rungs share."""

import dataclasses
from pathlib import Path

import pytest

from components.sources.text import TextSource
from keras_bert.options.compression import StateImitation
from pipeline.pipelines import build_pipeline, comparison_pipeline, ladder_pipeline
from tests.pipeline.settings.texts import CHECKPOINT, CORPUS, EXAMPLES, load
from tests.pipeline.test_pipelines import FITTED, STUDENT, reads, values

GENERAL = "[general_distillation]\npath = 'more'\nrelations = 2.0\nseed = 5\n"


def test_one_student_is_made_of_text_for_all_seeds(tmp_path):
    pipeline = build_pipeline(load(tmp_path, CHECKPOINT + EXAMPLES + STUDENT + GENERAL, "seeds=2"), Path("root"))
    inputs, parameters = reads(pipeline), values(pipeline)
    assert inputs["ingest_texts"] == {"import_checkpoint"}
    assert inputs["distill_general"] == {"import_checkpoint", "ingest_texts"}
    for seed in (0, 1):
        assert inputs[f"distill-{seed}"] == {f"fine_tune-{seed}", "ingest_examples", "distill_general"}
    assert parameters["ingest_texts"] == {"source": TextSource(str(tmp_path / "more")), "max_length": 128}
    given = parameters["distill_general"]
    assert (given["imitation"], given["training"].seed) == (StateImitation(relations=2.0), 5)
    assert given["shape"] == parameters["distill-0"]["shape"]


def test_it_reads_the_pieces_that_the_teacher_reads(tmp_path):
    fitted = reads(build_pipeline(load(tmp_path, CHECKPOINT + EXAMPLES + STUDENT + GENERAL + FITTED), Path("root")))
    assert fitted["ingest_texts"] == {"fit_vocabulary"}
    assert fitted["distill_general"] == {"fit_vocabulary", "ingest_texts"}
    trained = reads(build_pipeline(load(tmp_path, CORPUS + EXAMPLES + STUDENT + GENERAL), Path("root")))
    assert trained["ingest_texts"] == {"build_vocabulary"}
    assert trained["distill_general"] == {"pretrain", "ingest_texts"}


def test_another_task_finds_the_steps_that_know_nothing_of_it(tmp_path):
    text = CHECKPOINT + EXAMPLES + STUDENT + GENERAL
    one, other = (
        values(build_pipeline(load(tmp_path, text, *more), Path("root")))
        for more in ((), ("examples.train=other.tsv", "pooling=cls", "distillation.cosine=1"))
    )
    assert one["distill_general"] == other["distill_general"]
    assert one["ingest_texts"] == other["ingest_texts"]
    assert one["distill"] != other["distill"]


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


def check_one_student(inputs, settings):
    """Steps with their inputs have the one student of the job, which learns from all teachers."""
    assert inputs["label_with_teacher-0"] == reads(build_pipeline(settings, Path("root")))["label_with_teacher-0"]
    assert [name for name in inputs if name.startswith("distill")] == ["distill-0"]


@pytest.mark.usefixtures("stand_in_accelerators")
def test_the_files_of_rungs_are_for_no_chip(tmp_path):
    settings = load(tmp_path, CHECKPOINT + EXAMPLES + "[quantization]\n[export]\naccelerators = ['engine']\n")
    parameters = values(ladder_pipeline(settings, {"teacher": (), "quantization": ("quantization",)}, (8,))[0])
    exports = [given["export"] for name, given in parameters.items() if name.startswith("export_model")]
    assert exports == [dataclasses.replace(settings.export, accelerators=())] * 2
