"""Copies of training rows: those that are test rows, exactly or nearly, are counted, dropped or refused."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from components.artifacts.standard import Vocabulary
from components.dsl.errors import InputError
from components.sources.table import TableSource
from components.training.copy_filter import CopyFilter
from keras_bert.data.task_batches import task_batches
from tests.components.tuning_job import ingest, write_rows

Batch = dict[str, np.ndarray]


@pytest.fixture(scope="module")
def examples(checkpoint, tmp_path_factory):
    folder = tmp_path_factory.mktemp("rows")
    lines = Path(write_rows(folder, "classification", count=160).train).read_text().splitlines(keepends=True)
    paths = [folder / f"{split}.tsv" for split in ("train", "validation", "test")]
    for path, (start, stop) in zip(paths, ((1, 61), (61, 81), (81, 161)), strict=True):
        path.write_text(lines[0] + "".join(lines[start:stop]))
    source = TableSource(*map(str, paths))
    return ingest(folder, Vocabulary(checkpoint / "vocabulary"), source)


def read_split(examples, split):
    (tensors,) = task_batches(examples.path, split, 200).epoch()
    return {name: tensor.numpy() for name, tensor in tensors.items()}


def change_token(batch):
    """The rows with another word instead of one."""
    ids, lengths = batch["token_ids"].copy(), batch["padding_mask"].sum(axis=1)
    chance = np.random.default_rng(0)
    words = np.unique(ids[ids > 4])
    for row, length in enumerate(lengths):
        place = chance.integers(1, length - 1)
        ids[row, place] = chance.choice(words[words != ids[row, place]])
    return {**batch, "token_ids": ids}


def test_planted_test_rows_are_counted_and_stay(examples):
    counts, rows = Counter[str](), read_split(examples, "test")
    copies = CopyFilter(examples, "keep", "keep")
    assert len(copies.select(rows, "copies", counts)["label"]) == len(rows["label"])
    assert counts["copies_in_test"] == len(rows["label"])
    counts.clear()
    copies.select(change_token(rows), "copies", counts)
    assert counts["copies_near_test"] >= 0.95 * len(rows["label"])


def test_rows_of_training_alone_are_none(examples):
    counts = Counter[str]()
    CopyFilter(examples, "keep", "off").select(change_token(read_split(examples, "train")), "copies", counts)
    assert not counts


@pytest.mark.parametrize(("overlap", "near_overlap"), [("drop", "keep"), ("keep", "drop"), ("drop", "off")])
def test_dropped_copies_take_their_labels_along(examples, overlap, near_overlap):
    rows, others = read_split(examples, "test"), read_split(examples, "train")
    width = max(batch["token_ids"].shape[1] for batch in (rows, others))
    planted = rows if overlap == "drop" else change_token(rows)

    def pad(values):
        return np.pad(values, ((0, 0), (0, width - values.shape[1]))) if values.ndim == 2 else values

    both = {name: np.concatenate([pad(others[name]), pad(planted[name])]) for name in others}
    counts = Counter[str]()
    left = CopyFilter(examples, overlap, near_overlap).select(both, "copies", counts)
    kept = len(others["label"])
    assert kept <= len(left["label"]) <= kept + 0.05 * len(rows["label"])
    for name, values in left.items():
        np.testing.assert_array_equal(values[:kept], pad(others[name]))


@pytest.mark.parametrize(("setting", "word"), [("overlap", ""), ("near_overlap", "nearly ")])
def test_copies_are_refused(examples, setting, word):
    rows = read_split(examples, "test")
    copies = CopyFilter(examples, **{"overlap": "keep", "near_overlap": "keep", setting: "error"})
    with pytest.raises(InputError) as error:
        copies.select(rows if setting == "overlap" else change_token(rows), "copies", Counter())
    assert str(error.value) == (
        f"examples.{setting} is 'error', and a copy of a training row with replaced words is {word}a test row; "
        f"lower teacher_labels.replaced, or set examples.{setting} to 'drop' or 'keep'"
    )
