"""The step that deals training rows to folds; `test_folds.py` tests how."""

import pytest

from components.examples.registry import read_rows
from plugins.label_errors.artifacts import Folds
from plugins.label_errors.assign_folds import assign_folds


@pytest.mark.parametrize("task", ["classification", "multi_label", "token_classification"])
def test_each_training_row_has_a_fold_and_its_bytes_follow_from_the_seed(line, tmp_path, task):
    examples, artifacts = line(task).examples, []
    for number, seed in enumerate((0, 0, 1)):
        folds = Folds(tmp_path / str(number))
        assign_folds.run(examples=examples, folds=folds, count=3, seed=seed)
        artifacts.append(folds)
    first, again, other = artifacts
    numbers = first.read()
    assert len(numbers) == len(read_rows(examples, "train"))
    assert first.counts == {"rows": len(numbers), "smallest_fold": min(map(numbers.count, range(3)))}
    assert first.counts["smallest_fold"] > 0
    assert first.fingerprint() == again.fingerprint() != other.fingerprint()
