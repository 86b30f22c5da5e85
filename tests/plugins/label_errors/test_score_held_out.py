"""Out-of-fold probabilities: each row is judged by the model that has not seen it."""

import numpy as np
import pytest

from components.examples.base import TaskRows
from components.examples.registry import read_rows
from components.scoring.registry import TASK_SCORING
from keras_bert.data.records import read_features
from keras_bert.metrics.calibration import probabilities as softmax
from plugins.label_errors.artifacts import Folds, HeldOutProbabilities
from plugins.label_errors.score_held_out import score_held_out
from tests.samples import long_but

TASKS = ("classification", "multi_label", "token_classification")


@pytest.mark.parametrize("task", long_but(("classification",), TASKS))
def test_each_row_is_judged_by_the_model_of_its_fold(line, tmp_path, task, monkeypatch):
    made = line(task)
    folds, scored = Folds(tmp_path / "folds"), HeldOutProbabilities(tmp_path / "scored")
    rows = read_rows(made.examples, "train")
    folds.path.mkdir()
    folds.write([number % 2 for number in range(len(rows))])
    folds.seal({})
    # The second model is sure of animals.
    models = [made.teacher, made.lopsided if task == "classification" else made.teacher]
    score_held_out.run(models=models, examples=made.examples, folds=folds, probabilities=scored)
    decisions = scored.read()
    scoring = TASK_SCORING[task]
    classes = scoring.classes(read_features(made.examples.path)["settings"]["labels"])
    for fold, name in enumerate(("teacher", "lopsided" if task == "classification" else "teacher")):
        expected = scoring.logits(made.load(name), rows[fold::2])
        members = decisions.rows % 2 == fold
        np.testing.assert_allclose(decisions.probabilities[members], softmax(expected.logits), atol=1e-5)
        assert [classes[number] for number in decisions.given[members]] == expected.truth
    monkeypatch.setattr(TaskRows, "has_own_label", lambda self, row: row != rows[0])
    judged = HeldOutProbabilities(tmp_path / "judged")
    score_held_out.run(models=models, examples=made.examples, folds=folds, probabilities=judged)
    for array, all_values in zip(judged.read(), decisions, strict=True):
        np.testing.assert_array_equal(array, all_values[decisions.rows > 0], "labels of a teacher are not judged")
    given = {(row, place): classes[number] for row, place, number in zip(*decisions[:3], strict=True)}
    assert list(given) == sorted(given)
    assert len(given) == len(decisions.rows)
    labels = made.load("teacher").labels
    for number, row in enumerate(rows):
        names = {place: name for (other, place), name in given.items() if other == number}
        assert scoring.relabel(row, names, labels) == row
