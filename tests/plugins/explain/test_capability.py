"""The table `[probes]` of a job, and the models that its explanation reads."""

from pathlib import Path

import pytest

from components.dsl.errors import InputError
from pipeline.job.checks import check_data
from pipeline.pipelines import build_pipeline
from plugins.explain.wiring import explanation_pipeline
from tests.pipeline.settings.texts import CHECKPOINT, EXAMPLES, load, write_data
from tests.pipeline.test_pipelines import STUDENT, reads


def test_sentences_of_probes_are_read_before_a_run(tmp_path):
    write_data(tmp_path)
    text = CHECKPOINT + EXAMPLES + "[probes]\ntrain = 'a.conllu'\n"
    with pytest.raises(InputError, match=r"^probes: .*a\.conllu"):
        check_data(load(tmp_path, text))
    (tmp_path / "a.conllu").write_text("1\tfilms\t_\tNOUN\t_\t_\t0\t_\t_\t_\n")
    with pytest.raises(InputError, match=r"^probes: .*a\.conllu .*the tag must be O.*: set scheme = \"any\""):
        check_data(load(tmp_path, text))


def test_one_student_of_all_teachers_is_that_of_the_job(tmp_path):
    text = CHECKPOINT + EXAMPLES + STUDENT + "[quantization]\n[distillation]\nteachers = 'seeds'\n"
    settings = load(tmp_path, text, "seeds=3")
    inputs = reads(explanation_pipeline(settings, 4)[0])
    assert inputs["label_with_teacher-0"] == reads(build_pipeline(settings, Path("root")))["label_with_teacher-0"]
    assert [name for name in inputs if name.startswith("distill")] == ["distill-0"]
