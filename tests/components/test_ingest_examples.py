import json
from collections import Counter

import pytest
import tensorflow as tf

from components.artifacts.task_examples import TaskExamples
from components.artifacts.vocabulary import Vocabulary
from components.dsl.errors import InputError
from components.examples.held_out import hold_out
from components.examples.splits import carve
from components.ingest_examples import ingest_examples
from components.sources.questions import QuestionSource
from components.sources.table import TableSource, TextRow
from components.sources.tagged_words import SentenceSource
from keras_bert.data.examples.examples import read_texts
from keras_bert.data.records import read_features, read_labels
from keras_bert.data.task_batches import task_batches
from keras_bert.tokenizers.tokenizer import SPECIAL_TOKENS, Tokenizer

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


def ingest(folder, vocabulary, source, name="examples", **sizes):
    examples = TaskExamples(folder / name)
    ingest_examples(vocabulary=vocabulary, examples=examples, source=source, max_length=8, **sizes)
    return examples


def read_records(examples, split):
    """Each record of a split as plain values."""
    records = []
    for content in tf.data.TFRecordDataset(str(examples.file(f"{split}.tfrecord"))).as_numpy_iterator():
        features = tf.train.Example.FromString(content).features.feature
        records.append({name: list(getattr(each, each.WhichOneof("kind")).value) for name, each in features.items()})
    return records


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
        name: value.numpy().tolist()
        for name, value in next(iter(task_batches(examples.path, "train", 9).epoch())).items()
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
    batch = next(iter(task_batches(examples.path, "train", 2).epoch()))
    assert batch["token_ids"].numpy().tolist() == [[2, 5, 6, 3, 7, 3, 0, 0], [2, 8, 3, 9, 10, 3, 0, 0]]
    assert batch["segment_ids"].numpy().tolist() == [[0, 0, 0, 0, 1, 1, 0, 0], [0, 0, 0, 1, 1, 1, 0, 0]]
    assert read_texts(examples.path, "train")[0] == ("a b", "c", "yes")


def test_the_records_of_a_classification(tmp_path, vocabulary):
    rows = [("a b", "c", "yes"), ("d", "e f", "no")]
    source = TableSource(*[table(tmp_path / "a.tsv", rows, "q\tp\tlabel")] * 3, text="q", second_text="p")
    examples = ingest(tmp_path, vocabulary, source)
    assert read_features(examples.path)["task"] == "classification"
    assert read_records(examples, "train")[1] == {
        "token_ids": [2, 8, 3, 9, 10, 3],
        "segment_ids": [0, 0, 0, 1, 1, 1],
        "label": [0],
        "text": [b"d"],
        "second_text": [b"e f"],
    }


def test_a_regression(tmp_path, vocabulary):
    file = table(tmp_path / "a.tsv", [("a b", "2.5"), ("c " * 9, "-1")])
    examples = ingest(tmp_path, vocabulary, TableSource(file, file, file, task="regression"))
    assert [record["value"] for record in read_records(examples, "train")] == [[2.5], [-1.0]]
    features = read_features(examples.path)
    assert (features["task"], features["pairs"], features["truncated_share"]["test"]) == ("regression", False, 0.5)
    assert sorted(features["features"]) == sorted(read_records(examples, "train")[0])


def test_a_regression_whose_held_out_rows_all_have_one_number(tmp_path, vocabulary):
    rows = [(f"{first} {second}", "2.5") for first in "ab" for second in LETTERS]
    source = TableSource(table(tmp_path / "a.tsv", rows), task="regression")
    message = "validation must hold at least 2 different numbers to correlate, got only 2.5 in the rows taken out of tr"
    with pytest.raises(InputError, match=message):
        ingest(tmp_path, vocabulary, source)


def test_tagged_sentences(tmp_path, vocabulary):
    (tmp_path / "a.conll").write_text("A B-x\nbc O\n\n" + "d O\n" * 7 + "\n\u200d O\n")
    source = SentenceSource(*[str(tmp_path / "a.conll")] * 3)
    examples = ingest(tmp_path, vocabulary, source)
    assert read_labels(examples.path) == ["B-x", "I-x", "O"]
    features = read_features(examples.path)
    assert (features["counts"]["train"], features["rows"]["train"], features["task"]) == (3, 3, "token_classification")
    assert features["labels"]["test"] == {"B-x": 1, "O": 9}
    records = read_records(examples, "train")
    assert [(record["label"], record["row"]) for record in records] == [
        ([-1, 0, 2, -1], [0]),
        ([-1, *[2] * 6, -1], [1]),
        ([-1, 2, -1], [1]),
    ]
    assert sorted(features["features"]) == sorted(records[0])
    again = SentenceSource(str(examples.file("test.jsonl.gz")))
    assert again.splits()["train"] == source.splits()["test"]


def test_a_tag_that_no_sentence_of_training_keeps(tmp_path, vocabulary):
    rows = [f"{first} {second}" for first in "ab" for second in LETTERS]
    held = hold_out([(row,) for row in rows], ["test"], lambda row: row[0].replace(" ", "\0"), "sentences")["test"]
    lines = [json.dumps({"words": row, "tags": "B-x O" if (row,) == held[0] else "O O"}) for row in rows]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    (tmp_path / "b.jsonl").write_text(lines[-1])
    examples = ingest(tmp_path, vocabulary, SentenceSource(str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl")))
    assert read_features(examples.path)["labels"]["train"] == {"O": 36}
    assert read_labels(examples.path) == ["B-x", "I-x", "O"]


def test_questions(tmp_path, vocabulary):
    file = tmp_path / "a.jsonl"
    fields = {"id": "q0", "question": "i", "context": "a b c d e f g", "answers": {"text": ["g"], "answer_start": [12]}}
    nobody = {**fields, "id": "q1", "context": "a", "answers": {"text": [], "answer_start": []}}
    file.write_text(f"{json.dumps(fields)}\n{json.dumps(nobody)}\n")
    source = QuestionSource(*[str(file)] * 3)
    examples = ingest(tmp_path, vocabulary, source)
    records = read_records(examples, "train")
    assert [(record["positions"], record["row"]) for record in records] == [
        ([0, 0], [0]),
        ([0, 0], [0]),
        ([5, 5], [0]),
        ([0, 0], [1]),
    ]
    assert records[2]["token_ids"] == [2, 13, 3, 9, 10, 11, 3]
    features = read_features(examples.path)
    assert (features["counts"]["train"], features["rows"]["train"], features["task"]) == (4, 2, "question_answering")
    assert (features["stride"], features["max_query_length"], features["max_length"]) == (2, 1, 8)
    assert sorted(features["features"]) == sorted(records[0])
    assert QuestionSource(str(examples.file("test.jsonl.gz"))).splits()["train"] == source.splits()["test"]


def test_an_answer_without_a_word_piece(tmp_path, vocabulary):
    file = tmp_path / "a.jsonl"
    context = {"context": "a \u200d b", "answers": {"text": ["\u200d"], "answer_start": [2]}}
    file.write_text(json.dumps({"id": "q7", "question": "c", **context}))
    with pytest.raises(InputError, match=r"question 'q7': the answer '\\u200d' must hold a word piece, got only what"):
        ingest(tmp_path, vocabulary, QuestionSource(*[str(file)] * 3))


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"stride": 4}, r"ingest_examples\.stride must be at least 1 and less than the 4 pieces .*, got 4"),
        ({"stride": 0}, r"ingest_examples\.stride must be at least 1"),
        ({"max_query_length": 4}, r"ingest_examples\.max_query_length must be at least 1 and leave room .*, got 4"),
    ],
)
def test_windows_without_room(tmp_path, vocabulary, sizes, message):
    with pytest.raises(ValueError, match=message):
        ingest(tmp_path, vocabulary, QuestionSource("a.json"), **sizes)


@pytest.mark.parametrize("task", ["regression", "token_classification", "question_answering"])
def test_splits_of_all_tasks_are_taken_whatever_the_order_of_the_rows(tmp_path, vocabulary, task):
    texts = [f"{first} {second}" for first in "abcd" for second in LETTERS]
    answers = {"text": [], "answer_start": []}
    made = {
        "regression": lambda text: {"text": text, "label": texts.index(text)},
        "token_classification": lambda text: {"words": text, "tags": "B-x O"},
        "question_answering": lambda text: {"id": text, "question": "j", "context": text, "answers": answers},
    }
    sources = {
        "regression": lambda file: TableSource(file, task="regression"),
        "token_classification": SentenceSource,
        "question_answering": QuestionSource,
    }
    prints = []
    for name, ordered in (("a", texts), ("b", texts[::-1])):
        file = tmp_path / f"{name}.jsonl"
        file.write_text("\n".join(json.dumps(made[task](text)) for text in ordered))
        examples = ingest(tmp_path, vocabulary, sources[task](str(file)), name)
        prints.append(examples.fingerprint())
    assert prints[0] == prints[1]
    assert read_features(examples.path)["counts"] == {"train": 32, "validation": 4, "test": 4}


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
    rows = [TextRow(f"text {number % 50}", "ab"[number % 3 == 0]) for number in range(300)]
    splits = carve(rows, ["validation", "test"])
    texts = {split: {row.text for row in part} for split, part in splits.items()}
    assert not texts["train"] & (texts["validation"] | texts["test"])
    assert not texts["validation"] & texts["test"]
    assert sum(len(part) for part in splits.values()) == 300


def test_only_the_missing_split_is_taken():
    rows = [TextRow(f"text {number}", "ab"[number % 2]) for number in range(100)]
    splits = carve(rows, ["test"])
    assert {split: Counter(row.label for row in part) for split, part in splits.items()} == {
        "train": {"a": 45, "b": 45},
        "test": {"a": 5, "b": 5},
    }


def test_too_few_rows():
    with pytest.raises(InputError, match=r"taking a validation part .* at least 6 different texts, got 4 texts"):
        carve([TextRow(f"text {number}", "ab"[number % 2]) for number in range(4)], ["validation", "test"])


def test_label_that_would_be_carved_out():
    rows = [TextRow(f"text {number}", "a") for number in range(20)]
    held = next(iter(carve(rows, ["test"])["test"]))
    with pytest.raises(InputError, match=r"the label 'b' must keep a row for training, .* taken for test"):
        carve([*rows, TextRow(held.text, "b")], ["test"])
    kept = next(iter(carve(rows, ["test"])["train"]))
    assert TextRow(kept.text, "b") in carve([*rows, TextRow(kept.text, "b")], ["test"])["train"]


def test_length_without_room(tmp_path, vocabulary):
    source = TableSource(table(tmp_path / "a.tsv", [("a b", "yes"), ("c", "no")]))
    with pytest.raises(ValueError, match="max_length must be at least 8, got 3"):
        ingest_examples(vocabulary=vocabulary, examples=TaskExamples(tmp_path / "e"), source=source, max_length=3)
