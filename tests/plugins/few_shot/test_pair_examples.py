"""Pairs of rows are records of an embedding; test rows are in none of them."""

import itertools

import numpy as np
import pytest

from components.artifacts.standard import TaskExamples, Vocabulary
from components.dsl.errors import InputError
from components.examples.registry import read_rows
from components.sources.table import TableSource
from keras_bert.data.records import read_features
from keras_bert.data.task_batches import task_batches
from plugins.few_shot.pair_examples import pair_examples
from tests.components.tuning_job import LENGTH, ingest


def pair(line, folder, **changes):
    paired = TaskExamples(folder)
    pair_examples.run(vocabulary=line.vocabulary, examples=line.examples, paired=paired, **{"pairs": 3, **changes})
    return paired


@pytest.mark.parametrize("task", ["classification", "multi_label"])
def test_pairs_of_training_rows_and_of_validation_with_training_rows(line, tmp_path, task):
    paired = pair(line(task), tmp_path / "pairs")
    rows = {split: read_rows(line(task).examples, split) for split in ("train", "validation", "test")}
    sets = {
        row.text: {row.label} if task == "classification" else {*row.labels} for row in itertools.chain(*rows.values())
    }
    texts = {split: {row.text for row in rows[split]} for split in rows}
    for split in ("train", "validation"):
        pairs = read_rows(paired, split)
        for row in pairs:
            assert row.text in texts[split]
            assert row.second_text in texts["train"]
            assert float(row.label) == bool(sets[row.text] & sets[row.second_text])
        assert {row.text for row in pairs} == texts[split]
        assert paired.counts[split] == len(pairs)
    content = read_features(paired.path)
    # All that the report of a run and `show` read of labelled rows.
    assert content.keys() == read_features(line(task).examples.path).keys() - {"overlap", "near_overlap", "left_out"}
    assert (content["task"], content["settings"], content["max_length"]) == (
        "embedding",
        {"max_length": LENGTH},
        LENGTH,
    )


def test_records_hold_both_texts_and_the_cosine(line, tmp_path):
    paired, tokenizer = (
        pair(line("classification"), tmp_path / "pairs"),
        line("classification").load("pretrained").tokenizer,
    )
    rows = read_rows(paired, "train")
    (batch,) = task_batches(paired.path, "train", len(rows)).epoch()
    np.testing.assert_array_equal(batch["value"], [float(row.label) for row in rows])
    for name, texts in {"": [row.text for row in rows], "second_": [row.second_text for row in rows]}.items():
        expected = tokenizer.encode(texts, max_length=LENGTH)["token_ids"]
        np.testing.assert_array_equal(batch[f"{name}token_ids"][:, : expected.shape[1]], expected)


def test_the_same_seed_writes_the_same_bytes(line, tmp_path):
    first, second, other = (
        pair(line("classification"), tmp_path / name, seed=seed) for name, seed in zip("abc", (0, 0, 1), strict=True)
    )
    for name in ("train.tfrecord", "train.jsonl.gz", "validation.tfrecord", "features.json"):
        assert first.file(name).read_bytes() == second.file(name).read_bytes()
    assert first.file("train.tfrecord").read_bytes() != other.file("train.tfrecord").read_bytes()


def test_rows_that_make_no_pairs_are_refused(line, checkpoint, tmp_path):
    for file, rows in (("train", ("cow\tone", "oak\ttwo")), ("test", ("hen\tone", "elm\ttwo"))):
        (tmp_path / f"{file}.tsv").write_text("text\tlabel\n" + "\n".join(rows) + "\n")
    tables = {split: str(tmp_path / f"{file}.tsv") for split, file in (("validation", "test"), ("test", "test"))}
    source = TableSource(str(tmp_path / "train.tsv"), **tables)
    examples = ingest(tmp_path, Vocabulary(checkpoint / "vocabulary"), source)
    with pytest.raises(
        InputError, match=r"^few_shot needs a label with at least 2 training rows, .* of 2 labels; add rows"
    ):
        pair_examples.run(
            vocabulary=line("classification").vocabulary, examples=examples, paired=TaskExamples(tmp_path / "p")
        )
