import json
from collections import Counter

import pytest

from components.artifacts import TaskExamples, Vocabulary
from components.base import InputError
from components.ingest_examples import ingest_examples
from components.sources import TableSource
from components.splits import carve
from components.tables import Row
from keras_bert.data import read_texts, task_dataset
from keras_bert.records import read_features, read_labels
from keras_bert.tokenizer import SPECIAL_TOKENS, Tokenizer

LETTERS = "abcdefghij"


@pytest.fixture
def vocabulary(tmp_path):
    vocabulary = Vocabulary(tmp_path / "vocabulary")
    vocabulary.path.mkdir()
    Tokenizer([*SPECIAL_TOKENS, *LETTERS], lowercase=True).save(vocabulary.path)
    vocabulary.seal({})
    return vocabulary


def table(path, rows, header="text\tlabel"):
    path.write_text("\n".join([header, *("\t".join(row) for row in rows)]) + "\n")
    return str(path)


def test_given_splits(tmp_path, vocabulary):
    source = TableSource(
        train=table(tmp_path / "a.tsv", [("a b", "yes"), ("c", "no"), ("a " * 20, "no")]),
        validation=table(tmp_path / "b.tsv", [("d", "no")]),
        test=table(tmp_path / "c.tsv", [("E f", "yes")]),
    )
    examples = TaskExamples(tmp_path / "examples")
    ingest_examples(vocabulary=vocabulary, examples=examples, source=source, max_length=8)
    assert read_labels(examples.path) == ["no", "yes"]
    assert read_texts(examples.path, "test") == [("E f", "", "yes")]
    batch = {
        name: value.numpy().tolist() for name, value in next(iter(task_dataset(examples.path, "train", 9))).items()
    }
    assert batch["token_ids"] == [[2, 5, 6, 3, 0, 0, 0, 0], [2, 7, 3, 0, 0, 0, 0, 0], [2, *[5] * 6, 3]]
    assert batch["label"] == [1, 0, 0]
    features = read_features(examples.path)
    assert features["counts"] == {"train": 3, "validation": 1, "test": 1}
    assert features["truncated_share"] == {"train": 0.3333, "validation": 0.0, "test": 0.0}
    assert examples.manifest()["counts"]["labels"] == 2


def test_pairs(tmp_path, vocabulary):
    rows = [("a b", "c", "yes"), ("d", "e f", "no")]
    tables = [table(tmp_path / f"{name}.tsv", rows, "q\tp\tlabel") for name in ("a", "b", "c")]
    source = TableSource(*tables, text="q", second_text="p")
    examples = TaskExamples(tmp_path / "examples")
    ingest_examples(vocabulary=vocabulary, examples=examples, source=source, max_length=8)
    batch = next(iter(task_dataset(examples.path, "train", 2)))
    assert batch["token_ids"].numpy().tolist() == [[2, 5, 6, 3, 7, 3, 0, 0], [2, 8, 3, 9, 10, 3, 0, 0]]
    assert batch["segment_ids"].numpy().tolist() == [[0, 0, 0, 0, 1, 1, 0, 0], [0, 0, 0, 1, 1, 1, 0, 0]]
    assert read_texts(examples.path, "train")[0] == ("a b", "c", "yes")


def test_same_bytes_whatever_the_order_of_the_rows(tmp_path, vocabulary):
    rows = [(f"{first} {second}", "yes" if first < "f" else "no") for first in LETTERS for second in LETTERS]
    prints = []
    for name, ordered in (("a", rows), ("b", rows[::-1])):
        examples = TaskExamples(tmp_path / name)
        ingest_examples(
            vocabulary=vocabulary, examples=examples, source=TableSource(table(tmp_path / f"{name}.tsv", ordered))
        )
        prints.append(examples.fingerprint())
    assert prints[0] == prints[1]
    shares = json.loads(examples.file("features.json").read_text())["labels"]
    assert shares == {
        "train": {"no": 40, "yes": 40},
        "validation": {"no": 5, "yes": 5},
        "test": {"no": 5, "yes": 5},
    }


def test_equal_texts_come_to_the_same_split():
    rows = [Row(f"text {number % 50}", "ab"[number % 3 == 0]) for number in range(300)]
    splits = carve(rows, ["validation", "test"])
    texts = {split: {row.text for row in part} for split, part in splits.items()}
    assert not texts["train"] & (texts["validation"] | texts["test"])
    assert not texts["validation"] & texts["test"]
    assert sum(len(part) for part in splits.values()) == 300


def test_only_the_missing_split_is_taken():
    rows = [Row(f"text {number}", "ab"[number % 2]) for number in range(100)]
    splits = carve(rows, ["test"])
    assert {split: Counter(row.label for row in part) for split, part in splits.items()} == {
        "train": {"a": 45, "b": 45},
        "test": {"a": 5, "b": 5},
    }


def test_too_few_rows():
    with pytest.raises(InputError, match=r"taking a validation part .* at least 6 different texts, got 4 texts"):
        carve([Row(f"text {number}", "ab"[number % 2]) for number in range(4)], ["validation", "test"])


def test_label_that_would_be_carved_out():
    rows = [Row(f"text {number}", "a") for number in range(20)]
    held = next(iter(carve(rows, ["test"])["test"]))
    with pytest.raises(InputError, match=r"the label 'b' must keep a row for training, .* taken for test"):
        carve([*rows, Row(held.text, "b")], ["test"])
    kept = next(iter(carve(rows, ["test"])["train"]))
    assert Row(kept.text, "b") in carve([*rows, Row(kept.text, "b")], ["test"])["train"]


def test_length_without_room(tmp_path, vocabulary):
    source = TableSource(table(tmp_path / "a.tsv", [("a b", "yes"), ("c", "no")]))
    with pytest.raises(ValueError, match="max_length must be at least 8, got 3"):
        ingest_examples(vocabulary=vocabulary, examples=TaskExamples(tmp_path / "e"), source=source, max_length=3)
