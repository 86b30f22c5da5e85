"""The reasons of every task's models: a student, its file, and their teacher."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from components.artifacts.measurements import Explanation, ExplanationReport
from components.examples.registry import read_rows
from components.explain_models import explain_models
from components.scoring.registry import TASK_SCORING
from components.training.model_folder import read_model
from keras_bert.explain import compare
from keras_bert.export.bundle import load_exported
from tests.components.tuning_job import TASKS, Line

Lines = Callable[[str], Line]


def explain(line: Line, folder: Path, **given: Any) -> ExplanationReport:
    """The report of the step."""
    output = Explanation(folder / "explanation")
    output.path.mkdir()
    models = {"teacher": line.teacher, "student": line.student, **given}
    explain_models.run(edge=line.edge, examples=line.examples, explanation=output, rows=3, **models)
    return output.read()


@pytest.mark.parametrize(
    "task", [task if task == "classification" else pytest.param(task, marks=pytest.mark.long) for task in TASKS]
)
def test_a_student_and_its_file_beside_their_teacher(line: Lines, tmp_path: Path, task: str) -> None:
    artifacts = line(task)
    report = explain(artifacts, tmp_path)
    teacher, student = read_model(artifacts.teacher), read_model(artifacts.student)
    rows = read_rows(artifacts.examples, "validation")[:3]
    texts, seconds = TASK_SCORING[task].texts(rows)
    assert report.rows == len(rows) == len(texts)
    by_student, by_file = report.agreements
    assert (by_student.model, by_file.model) == ("student", "model.tflite")
    agreement = compare(teacher, student, texts, seconds)
    assert by_student.same_answers == agreement.same_answers.mean()
    correlations = agreement.rank_correlations[~np.isnan(agreement.rank_correlations)]
    assert by_student.compared == len(correlations)
    if len(correlations):
        assert by_student.rank_correlation == pytest.approx(np.median(correlations))
    np.testing.assert_allclose(by_student.attention_distances, agreement.attention_distances, atol=1e-4)
    of_file = compare(teacher, load_exported(artifacts.edge.path), texts, seconds)
    assert by_file.same_answers == of_file.same_answers.mean()
    assert by_file.layers is by_file.attention_distances is None
    for row in by_student.different:
        assert row["text"] in texts
        assert len(row["words"]) == len(row["teacher"]) == len(row["model"])
    assert [heads.model for heads in report.heads] == ["teacher", "student"]
    assert np.shape(report.heads[0].kinds) == np.shape(report.heads[0].entropies) == (1, 2)


def test_without_a_student_the_file_alone_is_compared(line: Lines, tmp_path: Path) -> None:
    artifacts = line("classification")
    report = explain(artifacts, tmp_path, student=artifacts.teacher)
    assert [agreement.model for agreement in report.agreements] == ["model.tflite"]
    assert [heads.model for heads in report.heads] == ["teacher"]


def test_no_rows_are_refused(line: Lines, tmp_path: Path) -> None:
    artifacts = line("classification")
    with pytest.raises(ValueError, match=r"^explain_models\.rows must be at least 1, got 0$"):
        explain_models.run(
            teacher=artifacts.teacher,
            student=artifacts.student,
            edge=artifacts.edge,
            examples=artifacts.examples,
            explanation=Explanation(tmp_path / "explanation"),
            rows=0,
        )
