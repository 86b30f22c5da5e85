"""Rows without those of a fold: the rows and records of all others, in their order."""

import pytest

from components.artifacts.standard import TaskExamples
from components.examples.registry import TASK_ROWS, read_rows
from keras_bert.data.records import read_features, read_serialized
from keras_bert.data.task_batches import task_batches
from plugins.label_errors.artifacts import Folds
from plugins.label_errors.assign_folds import assign_folds
from plugins.label_errors.leave_out_fold import leave_out_fold

TASKS = ("classification", "multi_label", "token_classification")


def assign(line, folder, count=3):
    folds = Folds(folder / "folds")
    assign_folds.run(examples=line.examples, folds=folds, count=count)
    return folds


@pytest.mark.parametrize("task", TASKS)
def test_the_models_of_a_fold_learn_from_all_other_rows_alone(line, tmp_path, task):
    examples = line(task).examples
    folds = assign(line(task), tmp_path)
    fold_of_row, rows = folds.read(), read_rows(examples, "train")
    assert set(fold_of_row) == {0, 1, 2}
    assert len(fold_of_row) == len(rows)
    records = [record.numpy() for record in read_serialized([str(examples.file("train.tfrecord"))])]
    for fold in range(3):
        kept = TaskExamples(tmp_path / f"kept-{fold}")
        leave_out_fold.run(examples=examples, folds=folds, kept=kept, fold=fold)
        expected = [row for row, other in zip(rows, fold_of_row, strict=True) if other != fold]
        assert read_rows(kept, "train") == expected
        assert read_rows(kept, "validation") == read_rows(examples, "validation")
        content = read_features(kept.path)
        assert content["rows"]["train"] == content["counts"]["train"] == len(expected)
        assert content["labels"]["train"] == dict(sorted(TASK_ROWS[task].count_labels(expected).items()))
        assert not list(kept.path.glob("test*"))
        if task != "token_classification":
            kept_records = [record.numpy() for record in read_serialized([str(kept.file("train.tfrecord"))])]
            others = [record for record, other in zip(records, fold_of_row, strict=True) if other != fold]
            assert kept_records == others
        tokens = sum(int(batch["padding_mask"].numpy().sum()) for batch in task_batches(kept.path, "train", 4).epoch())
        if task == "token_classification":
            assert tokens == sum(len(row.words) + 2 for row in expected)


def test_records_of_tagged_words_name_the_rows_that_are_left(line, tmp_path):
    import tensorflow as tf

    folds = assign(line("token_classification"), tmp_path)
    kept = TaskExamples(tmp_path / "kept")
    leave_out_fold.run(examples=line("token_classification").examples, folds=folds, kept=kept, fold=1)
    examples = [tf.train.Example.FromString(raw.numpy()) for raw in read_serialized([str(kept.file("train.tfrecord"))])]
    numbers = [example.features.feature["row"].int64_list.value[0] for example in examples]
    assert numbers == list(range(len(read_rows(kept, "train"))))
