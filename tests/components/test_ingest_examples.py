import json

import pytest
import tensorflow as tf

from components.artifacts.standard import TaskExamples, Vocabulary
from components.dsl.errors import InputError
from components.examples.registry import read_rows
from components.examples.row_schema import RowSchema
from components.sources.questions import QuestionSource
from components.sources.table import TableSource, TextRow
from components.sources.tagged_words import SentenceSource
from keras_bert.data.records import read_features, read_labels
from keras_bert.data.task_batches import task_batches
from keras_bert.tokenizers.tokenizer import Tokenizer
from keras_bert.tokenizers.wordpiece_vocabulary import SPECIAL_TOKENS
from tests.components.labelled_rows import ingest_source

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
    return ingest_source(TaskExamples(folder / name), vocabulary, source, max_length=8, **sizes)


def read_records(examples, split):
    """Each record of a split as plain values."""
    records = []
    for content in tf.data.TFRecordDataset(str(examples.file(f"{split}.tfrecord"))).as_numpy_iterator():
        features = tf.train.Example.FromString(content).features.feature
        records.append(
            {name: list(getattr(feature, feature.WhichOneof("kind")).value) for name, feature in features.items()}
        )
    return records


def test_given_splits(tmp_path, vocabulary):
    source = TableSource(
        train=table(tmp_path / "a.tsv", [("a b", "yes"), ("c", "no"), ("a " * 20, "no")]),
        validation=table(tmp_path / "b.tsv", [("d", "no")]),
        test=table(tmp_path / "c.tsv", [("E f", "yes")]),
    )
    examples = ingest(tmp_path, vocabulary, source)
    assert read_labels(examples.path) == ["no", "yes"]
    schema = RowSchema.parse(examples.read_json("schema.json"), "schema.json")
    # Of the training rows: 4, 3 and 22 tokens with the special ones, of which the model reads 8.
    assert (schema.rows, schema.labels, schema.max_length) == (3, {"no": 2, "yes": 1}, 8)
    assert (schema.length_edges, schema.lengths, schema.longer) == ([3, 4], [1, 1, 1], 1 / 3)
    assert (schema.unknown, schema.scripts) == (0.0, {"Latin": 1.0})
    assert schema.source == {"text": "text", "label": "label", "second_text": None, "scale": 1.0}
    assert read_rows(examples, "test") == [TextRow("E f", "yes")]
    batch = {
        name: value.numpy().tolist()
        for name, value in next(iter(task_batches(examples.path, "train", 9).epoch())).items()
    }
    assert batch["token_ids"] == [[2, 5, 6, 3, 0, 0, 0, 0], [2, 7, 3, 0, 0, 0, 0, 0], [2, *[5] * 6, 3]]
    assert batch["label"] == [1, 0, 0]
    features = read_features(examples.path)
    assert features["task"] == "classification"
    assert features["settings"] == {"labels": ["no", "yes"], "max_length": 8}
    assert features["counts"] == features["rows"] == {"train": 3, "validation": 1, "test": 1}
    assert features["labels"] == {"train": {"no": 2, "yes": 1}, "validation": {"no": 1}, "test": {"yes": 1}}
    assert features["truncated_share"] == {"train": 0.3333, "validation": 0.0, "test": 0.0}
    assert features["overlap"] == {"validation": {"train": 0}, "test": {"train": 0, "validation": 0}}
    assert examples.manifest()["counts"]["labels"] == 2


def test_pairs(tmp_path, vocabulary):
    rows = [("a b", "c", "yes"), ("d", "e f", "no")]
    tables = [table(tmp_path / f"{name}.tsv", rows, "q\tp\tlabel") for name in ("a", "b", "c")]
    source = TableSource(*tables, text="q", second_text="p")
    examples = ingest(tmp_path, vocabulary, source)
    assert read_records(examples, "train")[1] == {
        "token_ids": [2, 8, 3, 9, 10, 3],
        "segment_ids": [0, 0, 0, 1, 1, 1],
        "label": [0],
    }
    batch = next(iter(task_batches(examples.path, "train", 2).epoch()))
    assert batch["token_ids"].numpy().tolist() == [[2, 5, 6, 3, 7, 3, 0, 0], [2, 8, 3, 9, 10, 3, 0, 0]]
    assert batch["segment_ids"].numpy().tolist() == [[0, 0, 0, 0, 1, 1, 0, 0], [0, 0, 0, 1, 1, 1, 0, 0]]
    assert read_rows(examples, "train")[0] == TextRow("a b", "yes", "c")


@pytest.mark.parametrize(("overlap", "train", "shared"), [("keep", 4, 2), ("drop", 2, 0)])
def test_rows_of_several_splits(tmp_path, vocabulary, caplog, overlap, train, shared):
    source = TableSource(
        train=table(tmp_path / "a.tsv", [("a b", "yes"), ("c", "no"), ("d", "no"), ("e", "yes")]),
        validation=table(tmp_path / "b.tsv", [("f", "no")]),
        test=table(tmp_path / "c.tsv", [("A  b ", "yes"), ("c", "yes"), ("g", "no")]),
        overlap=overlap,
    )
    examples = ingest(tmp_path, vocabulary, source)
    features = read_features(examples.path)
    assert features["overlap"] == {"validation": {"train": 0}, "test": {"train": shared, "validation": 0}}
    assert features["rows"] == {"train": train, "validation": 1, "test": 3}, "held out rows stay"
    assert examples.manifest()["counts"].get("test_in_train", 0) == shared
    clause = "2 of 3 test rows have their texts in training rows, too"
    assert (clause in caplog.messages) == bool(shared)


@pytest.mark.parametrize(("near_overlap", "train", "near"), [("off", 3, 0), ("keep", 3, 1), ("drop", 2, 0)])
def test_near_duplicates_of_several_splits(tmp_path, vocabulary, caplog, near_overlap, train, near):
    source = TableSource(
        train=table(tmp_path / "a.tsv", [("a b c d e f g h i", "yes"), ("c", "no"), ("d", "yes")]),
        validation=table(tmp_path / "b.tsv", [("f", "no")]),
        test=table(tmp_path / "c.tsv", [("a b c d x f g h i", "yes"), ("g", "no")]),
        near_overlap=near_overlap,
    )
    examples = ingest(tmp_path, vocabulary, source)
    features = read_features(examples.path)
    counts = {"validation": {"train": 0}, "test": {"train": near, "validation": 0}}
    assert features["near_overlap"] == ({} if near_overlap == "off" else counts)
    assert features["rows"] == {"train": train, "validation": 1, "test": 2}, "held out rows stay"
    assert examples.manifest()["counts"].get("test_near_train", 0) == near
    assert ("1 of 2 test rows have nearly the texts of training rows" in caplog.messages) == bool(near)


def test_held_out_rows_are_taken_of_what_is_left_in_training(tmp_path, vocabulary):
    rows = [(first + second, str(second < "e")) for first in "ab" for second in LETTERS]
    given = table(tmp_path / "a.tsv", rows)
    source = TableSource(given, test=table(tmp_path / "c.tsv", rows[:5] + rows[12:14]), overlap="drop")
    features = read_features(ingest(tmp_path, vocabulary, source).path)
    assert features["overlap"] == {"validation": {"train": 0}, "test": {"train": 0, "validation": 0}}
    assert features["rows"]["train"] + features["rows"]["validation"] == 13


def test_a_regression(tmp_path, vocabulary):
    file = table(tmp_path / "a.tsv", [("a b", "2.5"), ("c " * 9, "-1")])
    examples = ingest(tmp_path, vocabulary, TableSource(file, file, file, task="regression"))
    assert [record["value"] for record in read_records(examples, "train")] == [[2.5], [-1.0]]
    features = read_features(examples.path)
    assert (features["task"], features["settings"]) == (
        "regression",
        {"max_length": 8, "mean": 0.75, "standard_deviation": 1.75},
    )
    assert (features["labels"], features["truncated_share"]["test"]) == ({}, 0.5)
    assert not examples.file("labels.json").exists()
    assert read_rows(examples, "validation") == [TextRow("a b", "2.5"), TextRow("c " * 9, "-1")]
    assert sorted(features["features"]) == sorted(read_records(examples, "train")[0])


def test_pairs_for_vectors(tmp_path, vocabulary):
    rows = [("a b", "c", "5"), ("d " * 9, "e " * 9, "-2.5")]
    file = table(tmp_path / "a.tsv", rows, "text\tother\tlabel")
    source = TableSource(file, file, file, second_text="other", task="embedding", scale=5.0)
    examples = ingest(tmp_path, vocabulary, source)
    features, records = read_features(examples.path), read_records(examples, "train")
    assert records == [
        {
            "token_ids": [2, 5, 6, 3],
            "segment_ids": [0] * 4,
            "second_token_ids": [2, 7, 3],
            "second_segment_ids": [0] * 3,
            "value": [1.0],
        },
        {
            "token_ids": [2, *[8] * 6, 3],
            "segment_ids": [0] * 8,
            "second_token_ids": [2, *[9] * 6, 3],
            "second_segment_ids": [0] * 8,
            "value": [-0.5],
        },
    ]
    assert (features["task"], features["settings"]) == ("embedding", {"max_length": 8})
    assert features["truncated_share"]["train"] == 0.5
    assert sorted(features["features"]) == sorted(records[0])
    assert read_rows(examples, "test") == source.splits()["test"]


# Records hold float32, in which 1 and 1.00000001 are one number; regression refuses their column as a whole.
@pytest.mark.parametrize(
    ("task", "numbers"),
    [("regression", ("2.5", "2.50")), ("embedding", ("2.5", "2.50")), ("embedding", ("1", "1.00000001"))],
)
def test_held_out_rows_that_all_have_one_number(tmp_path, vocabulary, task, numbers):
    rows = [(first, second, numbers[second < "e"]) for first in "ab" for second in LETTERS]
    file = table(tmp_path / "a.tsv", rows, "text\tother\tlabel")
    source = TableSource(file, second_text="other", task=task, scale=5.0 if task == "embedding" else 1.0)
    only = float(numbers[0]) / source.scale
    message = f"^validation must hold at least 2 different numbers to correlate, got only {only:g} in the rows taken"
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
    held, tagged = tmp_path / "held.jsonl", tmp_path / "a.jsonl"
    held.write_text("\n".join(json.dumps({"words": row, "tags": "B-x O"}) for row in rows))
    taken = read_rows(ingest(tmp_path, vocabulary, SentenceSource(str(held), str(held)), "first"), "test")[0]
    lines = [
        json.dumps({"words": row, "tags": "B-x O" if tuple(row.split()) == taken.words else "O O"}) for row in rows
    ]
    tagged.write_text("\n".join(lines))
    (tmp_path / "b.jsonl").write_text(lines[-1])
    examples = ingest(tmp_path, vocabulary, SentenceSource(str(tagged), str(tmp_path / "b.jsonl")))
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
    # Some have no answer, so that giving none is one.
    assert features["settings"] == {"stride": 2, "max_query_length": 1, "max_length": 8, "null_threshold": 0.0}
    assert sorted(features["features"]) == sorted(records[0])
    assert QuestionSource(str(examples.file("test.jsonl.gz"))).splits()["train"] == source.splits()["test"]


def test_questions_whose_answer_fits_in_no_window(tmp_path, vocabulary, caplog):
    file = tmp_path / "a.jsonl"
    fields = {"id": "q0", "question": "i", "context": "a b c d e f g", "answers": {"text": ["g"], "answer_start": [12]}}
    long = {**fields, "id": "q1", "answers": {"text": ["a b c d e"], "answer_start": [0]}}
    file.write_text(f"{json.dumps(long)}\n{json.dumps(fields)}\n")
    examples = ingest(tmp_path, vocabulary, QuestionSource(*[str(file)] * 3))
    assert [record["row"] for record in read_records(examples, "train")] == [[1], [1], [1]]
    features = read_features(examples.path)
    assert features["left_out"] == {"train": 1, "validation": 1, "test": 1}
    rule = "have an answer that stands whole in no window of 8 tokens: no model learns or finds it"
    assert f"1 of 2 train questions {rule}" in caplog.messages
    file.write_text(f"{json.dumps(long)}\n")
    with pytest.raises(
        InputError, match=r"a window of max_length = 8 tokens, got none of 1 that does; raise max_length"
    ):
        ingest(tmp_path, vocabulary, QuestionSource(*[str(file)] * 3), "none")


@pytest.mark.parametrize(
    "task", ["classification", "regression", "embedding", "token_classification", "question_answering"]
)
def test_splits_of_all_tasks_are_taken_whatever_the_order_of_the_rows(tmp_path, vocabulary, task):
    texts = [f"{first} {second}" for first in "abcd" for second in LETTERS]
    made = {
        "classification": lambda text: {"text": text, "label": text[0] < "c"},
        "regression": lambda text: {"text": text, "label": texts.index(text)},
        "embedding": lambda text: {"text": text, "second_text": "j", "label": texts.index(text) / 40},
        "token_classification": lambda text: {"words": text, "tags": "B-x O"},
        "question_answering": lambda text: {
            "id": text,
            "question": "j",
            "context": text,
            "answers": {"text": [text[0]], "answer_start": [0]},
        },
    }
    sources = {
        "classification": TableSource,
        "regression": lambda file: TableSource(file, task="regression"),
        "embedding": lambda file: TableSource(file, second_text="second_text", task="embedding"),
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


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"stride": 4}, r"stride must be at least 1 and less than the 4 tokens .*, got 4"),
        ({"max_query_length": 4}, r"max_query_length must be at least 1 and leave room .*, got 4"),
    ],
)
def test_windows_without_room(tmp_path, vocabulary, sizes, message):
    fields = {"id": "q0", "question": "i", "context": "a", "answers": {"text": ["a"], "answer_start": [0]}}
    (tmp_path / "a.jsonl").write_text(json.dumps(fields))
    with pytest.raises(ValueError, match=rf"ingest_examples\.{message}"):
        ingest(tmp_path, vocabulary, QuestionSource(*[str(tmp_path / "a.jsonl")] * 3), **sizes)
