"""What may be searched in a job, which values are tried, and what is refused."""

import re

import pytest

from components.dsl.errors import InputError
from pipeline.job.files import make_settings, read_tables
from plugins.search.space import Dimension, apply_values, find_space
from tests.pipeline.settings.texts import CORPUS, EXAMPLES

STUDENT = "[student]\nlayers = [0, 1]\n"


def space_of(folder, text, *names):
    """The space of a job with an encoder of two layers."""
    (folder / "job.toml").write_text(CORPUS + EXAMPLES + text)
    tables = read_tables(folder / "job.toml")
    return find_space(tables, make_settings(tables), names)


def values_of(space, stage):
    return {one.name: one.values for one in space[stage]}


def test_the_usual_values_lie_around_those_of_the_job(tmp_path):
    text = "task = 'regression'\n[fine_tuning]\nlearning_rate = 2e-4\nepochs = 3\nbatch_size = 8\nlayer_decay = 0.6\n"
    space = space_of(tmp_path, text)
    assert values_of(space, "teacher") == {
        "pooling": ("mean", "cls"),
        "fine_tuning.learning_rate": (4e-5, 1e-3),
        "fine_tuning.epochs": (1.5, 6.0),
        "fine_tuning.batch_size": (8, 4, 16),
        "fine_tuning.layer_decay": (0.6, 1.0),
    }
    assert space.keys() == {"teacher"}, "there is no student"
    defaults = [one.default for one in space["teacher"]]
    assert defaults == ["mean", 2e-4, 3.0, 8, 0.6]


def test_a_student_has_a_space_of_its_own_with_its_depth(tmp_path):
    space = space_of(tmp_path, STUDENT + "[distillation]\nsteps = 9\nlearning_rate = 1e-4\n")
    assert values_of(space, "student") == {
        "distillation.learning_rate": (2e-5, 5e-4),
        "distillation.steps": (4, 18),
        "distillation.batch_size": (32, 16, 64),
        "distillation.layer_decay": (0.7, 1.0),
        "student.num_layers": (2, 1),
    }
    assert {one.name for one in space["student"] if one.is_whole} == {"distillation.steps"}


def test_values_that_the_job_cannot_have_are_left_out(tmp_path):
    text = "[pretraining_rows]\nobjective = 'none'\n[fine_tuning]\nbatch_size = 2\naccumulation = 2\n"
    values = values_of(space_of(tmp_path, text), "teacher")
    assert "pooling" not in values, "without pairs nothing trains the pooler"
    assert values["fine_tuning.batch_size"] == (2, 4), "1 has no two parts"
    floats = STUDENT + "[quantization]\nfloat_layers = ['block_1/query']\n"
    assert "student.num_layers" not in values_of(space_of(tmp_path, floats), "student")


def test_tasks_that_read_tokens_have_no_pooling(tmp_path):
    assert "pooling" not in values_of(space_of(tmp_path, "task = 'token_classification'\n"), "teacher")


def test_the_table_narrows_the_space_and_names_choose_from_it(tmp_path):
    text = "[search]\npooling = ['mean']\n[search.fine_tuning]\nlearning_rate = [1e-5, 2e-4]\nbatch_size = [16, 32]\n"
    values = values_of(space_of(tmp_path, text), "teacher")
    assert values["fine_tuning.learning_rate"] == (1e-5, 2e-4)
    assert values["fine_tuning.batch_size"] == (16, 32)
    assert "pooling" not in values
    names = ("fine_tuning.learning_rate", "fine_tuning.epochs")
    assert tuple(values_of(space_of(tmp_path, text, *names), "teacher")) == names


RATES = "[search.fine_tuning]\nlearning_rate = "
RATE = "search.fine_tuning.learning_rate"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[search.distillation]\nepochs = [1.0, 2.0]", "search.distillation.epochs must be left out without"),
        ("[search.student]\nnum_layers = [1, 2]", "search.student.num_layers must be left out without [stud"),
        (
            "[search.fine_tuning]\nsteps = [1, 2]",
            "search.fine_tuning.steps must be left out where fine_tuning.steps is n",
        ),
        (
            "[fine_tuning]\nsteps = 9\n[search.fine_tuning]\nepochs = [1.0, 2.0]",
            "search.fine_tuning.epochs must be left out where fine_tuning.steps is set; search.fine_tuning.steps is",
        ),
        (
            "task = 'token_classification'\n[search]\npooling = ['cls', 'mean']",
            "search.pooling must be left out: token",
        ),
        (
            STUDENT + "[search.student]\nnum_layers = [2, 3]",
            "search.student.num_layers must be at most 2, the teacher's",
        ),
        (
            STUDENT + "[distillation]\nhidden_states = 1.0\nlayer_map = [0, 1]\n[search.student]\nnum_layers = [1, 2]",
            "search.student.num_layers does not suit the job's imitation: Imitation.layer_map must name",
        ),
        (
            STUDENT + "[general_distillation]\npath = 'texts'\ncosine = 1.0\n[search.student]\nnum_layers = [1, 2]",
            "search.student.num_layers must be left out beside [general_distillation], which each depth",
        ),
        (RATES + "[1e-3]", f"{RATE} must hold several values to search, or the job's alone, 5e-05, got [0.001]"),
        (
            "[fine_tuning]\naccumulation = 4\n[search.fine_tuning]\nbatch_size = [32, 6]",
            "fine_tuning.accumulation must divide batch_size=6, got 4",
        ),
    ],
)
def test_what_cannot_be_searched(tmp_path, text, message):
    with pytest.raises(InputError) as caught:
        space_of(tmp_path, text)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        ("", "fine_tuning.rate", "--space must name settings of this job, got 'fine_tuning.rate'; did you mean"),
        ("", "student.num_layers", "--space must name settings of this job, got 'student.num_layers'"),
        ("[search]\npooling = ['mean']", "pooling", "--space and [search] must leave a setting with several values"),
    ],
)
def test_names_of_what_cannot_be_searched(tmp_path, text, name, message):
    with pytest.raises(InputError, match=re.escape(message)):
        space_of(tmp_path, text, name)


def test_values_are_rounded_and_stay_in_their_range():
    rate = Dimension.of("fine_tuning.learning_rate", (1.25e-5, 1e-3), 1e-4)
    assert [rate.round(value) for value in (1.2345e-4, 1.251e-5, 9.999e-4)] == [1.2e-4, 1.3e-5, 1e-3]
    assert rate.round(1.2501e-5) == 1.3e-5
    assert Dimension.of(rate.name, (1.24e-5, 1e-3), 1e-4).round(1.24e-5) == 1.24e-5, "rounded it would lie outside"
    steps = Dimension.of("fine_tuning.steps", (10, 2000), 100)
    assert (steps.round(1234), rate.allows(1e-5), rate.allows(1e-3)) == (1234, False, True)


def test_the_tables_of_a_job_stay_as_they_are():
    tables = {"fine_tuning": {"epochs": 1.0}}
    changed = apply_values(tables, {"fine_tuning.epochs": 2.0, "distillation.epochs": 3.0})
    assert changed == {"fine_tuning": {"epochs": 2.0}, "distillation": {"epochs": 3.0}}
    assert tables == {"fine_tuning": {"epochs": 1.0}}
