"""The rows of TaskExamples as they were read, before any tokenizing: what a user would ask a model about."""

from typing import TYPE_CHECKING, Any, NamedTuple

from components.artifacts.task_examples import TaskExamples
from components.files.record_files import read_records
from components.sources.conll import Sentence, parse_lists
from components.sources.squad import QUESTION_FIELDS, Question, parse_question

if TYPE_CHECKING:
    from keras_bert.tasks.base import Task

_SENTENCE_FIELDS = ("words", "tags")
_ROWS_AT_ONCE = 1024


class TextRow(NamedTuple):
    """A row of a classification or a regression.

    Attributes:
        text: the text, or the first of a pair.
        second_text: the second one, None where the task has one text.
        answer: the name of the label, or the number.
    """

    text: str
    second_text: str | None
    answer: str | float


Rows = list[TextRow] | list[Sentence] | list[Question]


def read_rows(examples: TaskExamples, split: str) -> Rows:
    """The rows of a split, in order: `TextRow`, `Sentence` or `Question`, as the task of the examples is."""
    from keras_bert.data.records import read_features

    features = read_features(examples.path)
    file = str(examples.file(f"{split}.jsonl.gz"))
    if features["task"] == "token_classification":
        return [parse_lists(record, _SENTENCE_FIELDS) for record in read_records(file, _SENTENCE_FIELDS)]
    if features["task"] == "question_answering":
        return [parse_question(record) for record in read_records(file, QUESTION_FIELDS)]
    return _read_texts(examples, split, features)


def predict(task: "Task", rows: Rows) -> list[Any]:
    """What a task answers to each row: a label, a number, a list of tags or an `Answer`."""
    from keras_bert.tasks.classification import Classification
    from keras_bert.tasks.question_answering import QuestionAnswering
    from keras_bert.tasks.regression import Regression
    from keras_bert.tasks.token_classification import TokenClassification

    columns: list[Any] = [list(column) for column in zip(*rows, strict=True)]
    if isinstance(task, TokenClassification):
        return task.predict_tags(columns[0])
    if isinstance(task, QuestionAnswering):
        return list(task.predict(columns[1], columns[2]))
    assert isinstance(task, Classification | Regression)
    pairs = None if columns[1][0] is None else columns[1]
    if isinstance(task, Classification):
        return [prediction.label for prediction in task.predict(columns[0], pairs)]
    return list(task.predict(columns[0], pairs))


def _read_texts(examples: TaskExamples, split: str, features: dict[str, Any]) -> list[TextRow]:
    import tensorflow as tf

    from keras_bert.data import records

    numbers = features["task"] == "regression"
    labels = [] if numbers else records.read_labels(examples.path)
    answer = ("value", tf.float32) if numbers else ("label", tf.int64)
    kinds = {"text": tf.string, "second_text": tf.string, answer[0]: answer[1]}
    columns = {name: tf.io.FixedLenFeature([], kind) for name, kind in kinds.items()}
    rows = []
    for serialized in records.read_records([str(examples.file(f"{split}.tfrecord"))]).batch(_ROWS_AT_ONCE):
        batch = {name: value.numpy() for name, value in tf.io.parse_example(serialized, columns).items()}
        for text, second, found in zip(*(batch[name] for name in columns), strict=True):
            pair = second.decode() if features["pairs"] else None
            rows.append(TextRow(text.decode(), pair, float(found) if numbers else labels[found]))
    return rows
