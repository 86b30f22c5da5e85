"""The rows of each task: their records hold what the task itself makes of them, and their files hold them whole."""

import dataclasses
import json
from collections import Counter

import keras
import numpy as np
import pytest
import tensorflow as tf

from components.artifacts.standard import TaskExamples
from components.dsl.errors import InputError
from components.examples.base import ROWS_AT_ONCE, Encoding
from components.examples.registry import TASK_ROWS, read_rows, write_rows
from components.sources.label_sets import LabelSetRow, LabelSetSource
from components.sources.questions import Question, QuestionSource
from components.sources.retrieval import QueryRow
from components.sources.table import TextRow
from components.sources.tagged_words import Sentence, SentenceSource
from keras_bert.core.config import EncoderConfig
from keras_bert.core.losses import IGNORED
from keras_bert.core.plugins import find_plugins
from keras_bert.core.target_scale import TargetScale
from keras_bert.data.schemas import SCHEMAS, TEXT
from keras_bert.models.encoder import build_encoder
from keras_bert.options.data import Prompts
from keras_bert.tasks.registry import TASKS
from keras_bert.tokenizers.tokenizer import Tokenizer
from keras_bert.tokenizers.wordpiece_vocabulary import SPECIAL_TOKENS

TOKENIZER = Tokenizer([*SPECIAL_TOKENS, "a", "b", "c", "##a", "##b"], lowercase=True)
TEXTS = ["a ba c", "c", "ab \u200d abab c c c a", "b b b b b b b b b b b b"]
LABELS = ["B-x", "I-x", "O"]
SENTENCES = [Sentence(words := tuple(text.split()), ("B-x", *("O",) * (len(words) - 1))) for text in TEXTS]
ANSWERS = [(("ba", 2), ("c", 5)), (), (("abab", 5),), (("b b", 2),)]
ROWS = {
    "classification": [TextRow(text, label) for text, label in zip(TEXTS, ["B-x", "O", "O", "I-x"], strict=True)],
    "multi_label": [
        LabelSetRow(text, labels, "b")
        for text, labels in zip(TEXTS, [("B-x", "O"), (), ("O",), ("B-x", "I-x", "O")], strict=True)
    ],
    "regression": [TextRow(text, str(number / 3), "b") for number, text in enumerate(TEXTS)],
    "embedding": [TextRow(text, str(number / 3), TEXTS[3 - number]) for number, text in enumerate(TEXTS)],
    "token_classification": SENTENCES,
    "reranking": [TextRow(TEXTS[number % 2], str(number / 3), text) for number, text in enumerate(TEXTS)],
    "retrieval": [
        QueryRow(text, (TEXTS[3 - number], "B A"), ("a b", "c a")[:number]) for number, text in enumerate(TEXTS)
    ],
    "question_answering": [Question(str(n), "a b c a", *row) for n, row in enumerate(zip(TEXTS, ANSWERS, strict=True))],
}


def encoding(max_length=12):
    return Encoding(TOKENIZER, LABELS, max_length, stride=3, max_query_length=3)


def stack(records, name, filling=0):
    """The values of a feature of all records, padded to the longest."""
    features = [tf.train.Example.FromString(record).features.feature[name] for record in records]
    rows = [getattr(feature, feature.WhichOneof("kind")).value for feature in features]
    width = max(map(len, rows))
    return np.array([[*row, *[filling] * (width - len(row))] for row in rows])


@pytest.fixture(scope="module")
def build():
    """A task by its name, with the settings that its rows tell."""
    shape = {"num_layers": 1, "hidden_size": 4, "num_heads": 1, "intermediate_size": 4, "max_length": 12}
    keras.utils.set_random_seed(0)
    encoder = build_encoder(EncoderConfig(vocabulary_size=TOKENIZER.vocabulary_size, **shape))

    def build(task, max_length=12):
        settings = TASK_ROWS[task].settings(encoding(max_length), ROWS[task])
        return TASKS[task].build(encoder, TOKENIZER, **settings)

    return build


def make_records(task, max_length=12):
    encoder = encoding(max_length)
    return list(TASK_ROWS[task].records(ROWS[task], encoder)), encoder.cut


def assert_same_inputs(records, features, record_prefix="", feature_prefix=""):
    for name in ("token_ids", "segment_ids"):
        np.testing.assert_array_equal(stack(records, record_prefix + name), features[feature_prefix + name])


@pytest.mark.parametrize(
    ("task", "name", "truth", "seconds", "count_cut"),
    [
        ("classification", "label", [row.label for row in ROWS["classification"]], None, 1),
        ("multi_label", "label", [row.labels for row in ROWS["multi_label"]], ["b"] * 4, 2),
        ("regression", "value", [float(row.label) for row in ROWS["regression"]], ["b"] * 4, 2),
    ],
)
def test_texts_and_their_truth(build, task, name, truth, seconds, count_cut):
    records, cut = make_records(task)
    features, expected = build(task).examples(TEXTS, truth, seconds)
    assert_same_inputs(records, features)
    values = stack(records, name)
    np.testing.assert_array_equal(values.astype(expected.dtype).reshape(expected.shape), expected)
    assert task != "multi_label" or expected.tolist() == [[1, 0, 1], [0, 0, 0], [0, 0, 1], [1, 1, 1]]
    assert cut == {False: 4 - count_cut, True: count_cut}


def test_texts_apart(build):
    records, cut = make_records("embedding")
    rows = ROWS["embedding"]
    arguments = [row.text for row in rows], [row.second_text for row in rows], [float(row.label) for row in rows]
    features, values = build("embedding").examples(*arguments)
    assert_same_inputs(records, features, feature_prefix="first_")
    assert_same_inputs(records, features, "second_", "second_")
    np.testing.assert_array_equal(stack(records, "value").astype("float32"), values)
    # Each text counts: the long one stands in the first place once, and once in the second.
    assert cut == {False: 6, True: 2}


def test_each_passage_of_a_query_has_a_record():
    records, cut = make_records("retrieval")
    rows = ROWS["retrieval"]
    encoded = {
        text: TOKENIZER.encode([text], max_length=12)["token_ids"][0].numpy().tolist() for text in (*TEXTS, "B A")
    }
    queries = [row.query for row in rows for _ in row.passages]
    passages = [passage for row in rows for passage in row.passages]
    for prefix, texts in (("", queries), ("second_", passages)):
        expected = np.array([encoded[text] for text in texts])
        np.testing.assert_array_equal(
            stack(records, f"{prefix}token_ids"), expected[:, : stack(records, f"{prefix}token_ids").shape[1]]
        )
    assert stack(records, "row")[:, 0].tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    groups = stack(records, "passage_group")[:, 0].tolist()
    assert len(set(groups[::2])) == 4
    assert len(set(groups[1::2])) == 1
    # The second row has one negative, the others after it two; each text counts once for how many were cut.
    assert stack(records, "negative_lengths", -1).tolist() == [[-1, -1]] * 2 + [[4, -1]] * 2 + [[4, 4]] * 4
    assert cut == {False: 9, True: 2}


def test_the_passages_of_a_query_are_those_of_all_its_rows_and_no_negatives_of_it():
    rows = [QueryRow("a b", ("a",), ("B", "c")), QueryRow("A  B", ("b",), ("c", "A")), QueryRow("c", ("b",), ("a",))]
    records = list(TASK_ROWS["retrieval"].records(rows, encoding()))
    assert stack(records, "passage_group")[:, 0].tolist() == [0, 1, 1]
    assert stack(records, "answer_groups", -1).tolist() == [[0, 1], [0, 1], [1, -1]]
    assert stack(records, "negative_groups", -1).tolist() == [[2], [2], [0]]


def test_a_query_of_thousands_of_passages_has_few_groups():
    passages = tuple(f"a {number}" for number in range(2000))
    records = list(TASK_ROWS["retrieval"].records([QueryRow("a", passages), QueryRow("b", passages[:3])], encoding()))
    assert len(records) == 2003
    assert stack(records, "answer_groups", -1).tolist() == [[0, 1]] * 2000 + [[0, -1]] * 3
    assert stack(records, "passage_group")[:, 0].tolist() == [0] * 3 + [1] * 1997 + [0] * 3


def test_prompts_stand_in_front_of_queries_and_passages():
    prompted = dataclasses.replace(encoding(), prompts=Prompts(query="c ", passage="b "))
    (record,) = TASK_ROWS["retrieval"].records([QueryRow("a", ("a",), ("c",))], prompted)
    texts = [stack([record], name)[0].tolist() for name in ("token_ids", "second_token_ids", "negative_texts")]
    expected = TOKENIZER.encode(["c a", "b a", "b c"], max_length=4)["token_ids"].numpy().tolist()
    assert texts == expected


def test_passages_must_differ_where_they_are_searched():
    rows = ROWS["retrieval"]
    TASK_ROWS["retrieval"].check({"train": rows, "test": rows})
    same = [QueryRow("a", ("one passage",)), QueryRow("b", ("One  passage",))]
    for split in ("train", "validation", "test"):
        with pytest.raises(InputError, match=f"^{split} must hold at least 2 different passages, got only 'one passa"):
            TASK_ROWS["retrieval"].check({"train": rows, split: same})


def test_the_rows_of_a_query_follow_one_another(build):
    records, cut = make_records("reranking")
    rows = ROWS["reranking"]
    arguments = [row.text for row in rows], [row.second_text for row in rows], [float(row.label) for row in rows]
    features, labels = build("reranking").examples(*arguments)
    assert_same_inputs(records, features)
    np.testing.assert_array_equal(stack(records, "value").astype("float32")[:, 0], labels[:, 0])
    assert stack(records, "list")[:, 0].tolist() == labels[:, 1].tolist() == [0, 0, 1, 1]
    assert cut == {False: 2, True: 2}


def test_lists_have_an_order_and_gains_that_are_not_negative():
    task, rows = TASK_ROWS["reranking"], ROWS["reranking"]
    task.check({"train": [row._replace(label=f"-{row.label}") for row in rows], "test": rows})
    below = [rows[0]._replace(label="-0.5"), *rows]
    message = (
        r"^test must hold relevances of at least 0, as they are the gains of nDCG, got -0.5 for 'a ba c'; give sig"
    )
    with pytest.raises(InputError, match=message):
        task.check({"train": rows, "test": below})
    # Of different queries: no list has an order.
    same = [rows[0], rows[1], rows[1]._replace(text="C ")]
    for split in ("train", "validation", "test"):
        message = f"^{split} must hold a query that has passages of different relevance, got one .* of 2 queries; add "
        with pytest.raises(InputError, match=message):
            task.check({"train": rows, split: same})


def test_sentences(build):
    records, cut = make_records("token_classification", max_length=8)
    features, expected = build("token_classification", max_length=8).examples(
        [sentence.words for sentence in SENTENCES], [sentence.tags for sentence in SENTENCES]
    )
    assert_same_inputs(records, features)
    np.testing.assert_array_equal(stack(records, "label", IGNORED), expected)
    assert stack(records, "row")[:, 0].tolist() == [0, 1, 2, 2, 3, 3]
    assert not cut, "a long sentence has several records"


def test_questions(build):
    records, cut = make_records("question_answering")
    rows = ROWS["question_answering"]
    firsts = [row.answers[0] if row.answers else None for row in rows]
    features, positions = build("question_answering").examples([row.question for row in rows], TEXTS, firsts)
    assert_same_inputs(records, features)
    np.testing.assert_array_equal(stack(records, "positions"), positions)
    assert stack(records, "row")[:, 0].tolist() == sorted(stack(records, "row")[:, 0].tolist())
    assert {*stack(records, "row")[:, 0].tolist()} == {0, 1, 2, 3}
    assert not cut, "a long context has several records"


def test_an_answer_without_a_piece_is_named():
    row = Question("q7", "a", "a \u200d b", (("\u200d", 2),))
    with pytest.raises(InputError, match=r"^question 'q7': the answer '\\u200d' must hold a token, got only what"):
        list(TASK_ROWS["question_answering"].records([row], encoding()))


@pytest.mark.parametrize("task", ROWS)
def test_records_have_the_features_of_the_schema(task):
    records, _ = make_records(task)
    for record in records:
        assert set(tf.train.Example.FromString(record).features.feature) == set(SCHEMAS[task])


def test_every_task_that_is_trained_on_rows_has_them():
    without = {"pretraining", "replaced_tokens"} | find_plugins("tasks").keys() - find_plugins("task_rows").keys()
    assert set(TASK_ROWS) == set(SCHEMAS) - {TEXT} - without == set(TASKS) - without
    assert set(TASK_ROWS) - set(find_plugins("task_rows")) == set(ROWS)


@pytest.mark.parametrize("task", ROWS)
def test_rows_come_back_as_they_were_written(tmp_path, task):
    examples = TaskExamples(tmp_path)
    for split in ("test", "again"):
        write_rows(tmp_path / f"{split}.jsonl.gz", TASK_ROWS[task], ROWS[task])
    (tmp_path / "features.json").write_text(json.dumps({"task": task}))
    assert read_rows(examples, "test") == ROWS[task]
    assert (tmp_path / "test.jsonl.gz").read_bytes() == (tmp_path / "again.jsonl.gz").read_bytes()


@pytest.mark.parametrize("task", ["regression", "token_classification", "question_answering"])
def test_many_rows_are_tokenized_in_portions(task):
    many = (ROWS[task] * ROWS_AT_ONCE)[: 2 * ROWS_AT_ONCE + 1]
    records = list(TASK_ROWS[task].records(many, encoding()))
    alone = [list(TASK_ROWS[task].records([row], encoding())) for row in ROWS[task]]
    tokens = stack(records, "token_ids").shape[0]
    assert tokens == sum(len(alone[number % 4]) for number in range(len(many)))
    if task != "regression":
        rows = stack(records, "row")[:, 0].tolist()
        assert rows == [number for number in range(len(many)) for _ in alone[number % 4]]


def test_the_texts_that_splits_may_not_share():
    keys = {task: TASK_ROWS[task].key(rows[1]) for task, rows in ROWS.items()}
    assert keys == {
        "classification": ("c", ""),
        "multi_label": ("c", "b"),
        "regression": ("c", "b"),
        "embedding": ("c", TEXTS[2]),
        "reranking": ("c",),
        "retrieval": ("c",),
        "token_classification": ("c",),
        "question_answering": ("c",),
    }


def test_labels_and_their_counts():
    rows = TASK_ROWS["classification"]
    assert rows.labels(None, ROWS["classification"]) == LABELS
    assert rows.count_labels(ROWS["classification"]) == {"B-x": 1, "I-x": 1, "O": 2}
    assert [rows.stratum(row) for row in ROWS["classification"]] == ["B-x", "O", "O", "I-x"]
    tags = TASK_ROWS["token_classification"]
    # Of an entity both tags, whether or not there is one that goes on.
    assert tags.labels(SentenceSource("a"), SENTENCES[:1]) == LABELS
    assert tags.count_labels(SENTENCES[:2]) == Counter({"B-x": 2, "O": 2})
    sets = TASK_ROWS["multi_label"]
    assert sets.labels(LabelSetSource("a"), ROWS["multi_label"]) == LABELS
    assert sets.count_labels(ROWS["multi_label"]) == {"B-x": 2, "I-x": 1, "O": 3}
    for task in ("regression", "embedding", "question_answering", "reranking", "retrieval"):
        assert TASK_ROWS[task].labels(QuestionSource("a"), ROWS[task]) == []
        assert TASK_ROWS[task].count_labels(ROWS[task]) is None
    for task in set(ROWS) - {"classification"}:
        assert {TASK_ROWS[task].stratum(row) for row in ROWS[task]} == {""}


def test_settings_are_those_of_the_task():
    settings = {task: TASK_ROWS[task].settings(encoding(), rows) for task, rows in ROWS.items()}
    windows = {"max_length": 12, "stride": 3, "max_query_length": 3}
    assert settings == {
        "classification": {"max_length": 12, "labels": LABELS},
        "multi_label": {"max_length": 12, "labels": LABELS, "label_precision": None},
        "regression": {"max_length": 12, **TargetScale.of(float(row.label) for row in ROWS["regression"])._asdict()},
        "embedding": {"max_length": 12},
        "reranking": {"max_length": 12},
        "retrieval": {"max_length": 12, "prompts": {"query": "", "passage": ""}},
        "token_classification": {"max_length": 12, "labels": LABELS},
        "question_answering": {**windows, "null_threshold": 0.0},
    }
    # Where each question has an answer there is nothing to find.
    answered = [row for row in ROWS["question_answering"] if row.answers]
    assert TASK_ROWS["question_answering"].settings(encoding(), answered) == {**windows, "null_threshold": None}


def test_a_label_keeps_a_training_row():
    rows, train = TASK_ROWS["multi_label"], ROWS["multi_label"][:1]
    rows.check({"train": train, "validation": train, "test": train})
    message = "the label 'I-x' must keep a row for training, but all 1 with it are test rows; add"
    with pytest.raises(InputError, match=message):
        rows.check({"train": train, "validation": train, "test": ROWS["multi_label"]})


@pytest.mark.parametrize(
    ("train", "held_out", "most"),
    [
        # The square of 1e30 is none of float32: validation ended with "a learning rate that is too high".
        (["1", "3"], "1e30", "1e+15 of the mean of the training numbers, 2"),
        # The sum of some errors is none of float32.
        (["3e38", "-3e38"], "2", "1e+30 of the mean of the training numbers, 0"),
        (["1", "3", "1e30"], "2", None),
    ],
)
def test_numbers_whose_losses_overflow_are_refused(train, held_out, most):
    labels = {"train": train, "validation": ["1", held_out], "test": ["1", "2"]}
    splits = {split: [TextRow("", label) for label in values] for split, values in labels.items()}
    if most is None:
        TASK_ROWS["regression"].check(splits)
        return
    message = f"must hold numbers within {most}, as losses are squares in float32".replace("+", r"\+")
    with pytest.raises(InputError, match=message):
        TASK_ROWS["regression"].check(splits)
