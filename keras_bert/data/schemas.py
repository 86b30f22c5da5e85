"""The schemas of the record files, one for each task; writers and readers share them."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

Kind = Literal[
    "tokens",
    "labels",
    "integer",
    "group",
    "group_set",
    "flags",
    "pair",
    "number",
    "answers",
    "scores",
    "texts",
    "lengths",
    "groups",
    "list",
]
"""The kind of a feature: an integer a token (`tokens`); an integer a token with `IGNORED` for none (`labels`); one
integer, the place of a label (`integer`), a group of texts (`group`) or the list of a row (`list`), whose rows follow
one another and share batches; any number of such groups (`group_set`); 0 or 1 for each label (`flags`); two integers
(`pair`); one float (`number`); the floats of a model's answer (`answers`); or, of any number of texts of a row, their
tokens one text after the other (`texts`), the number of tokens of each (`lengths`), the group of each (`groups`), and a
teacher's score of each (`scores`)."""


class Feature(NamedTuple):
    """A feature of a record.

    Attributes:
        kind: the type of its values.
        meaning: the description in `features.json`.
        is_read: whether batches contain it; otherwise it only tells the source of the record.
        is_narrow: whether batches pad these tokens to the split's longest ones, where the row's other texts are longer.
    """

    kind: Kind
    meaning: str
    is_read: bool = True
    is_narrow: bool = False


_TOKENS = Feature("tokens", "int64, (length,): [CLS] text [SEP], or [CLS] text [SEP] second text [SEP]; not padded")
_SEGMENTS = Feature("tokens", "int64, (length,): 0, and the second text's segment of a pair from its first token on")
_ROW = "int64: the row, from 0, in the split's .jsonl.gz; a long one has several records"

# The teacher's answers to a row. `features.json` describes them under this name: the shape, whether there is one a
# token, and the value of padding, e.g. {"shape": [2], "along": true, "filling": -120.0}.
TEACHER_ANSWERS = "teacher_answers"

# The features of rows whose answers stand in the user's data, where a row may have no answer, or no label.
HAS_LABEL = "has_label"
_GIVEN: dict[str, Feature] = {
    HAS_LABEL: Feature("group", "int64: 1, or 0 where the label is the teacher's, as the row has none of its own"),
    "has_answers": Feature("group", "int64: 1 if the teacher answered the row, else 0"),
}
_NEGATIVE_SCORES = Feature("scores", "float32, (negatives,): the teacher's scores of the negatives, NaN for none")

# The schema of rows without a task.
TEXT = "text"

SCHEMAS: dict[str, dict[str, Feature]] = {
    TEXT: {
        "token_ids": Feature("tokens", "int64, (length,): [CLS] text [SEP]; not padded"),
        "segment_ids": Feature("tokens", "int64, (length,): 0"),
    },
    "classification": {
        "token_ids": _TOKENS,
        "segment_ids": _SEGMENTS,
        "label": Feature("integer", "int64: place in labels.json"),
    },
    "multi_label": {
        "token_ids": _TOKENS,
        "segment_ids": _SEGMENTS,
        "label": Feature("flags", "int64, (labels,): 1 for each label of the row, 0 for others, as in labels.json"),
    },
    "regression": {
        "token_ids": _TOKENS,
        "segment_ids": _SEGMENTS,
        "value": Feature("number", "float32: the number"),
    },
    "reranking": {
        "token_ids": Feature("tokens", "int64, (length,): [CLS] query [SEP] passage [SEP]; not padded"),
        "segment_ids": _SEGMENTS,
        "value": Feature("number", "float32: the relevance of the passage"),
        "list": Feature("list", "int64: equal for the rows of a query, which follow one another"),
    },
    "token_classification": {
        "token_ids": Feature("tokens", "int64, (length,): [CLS] words [SEP]; not padded"),
        "segment_ids": Feature("tokens", "int64, (length,): 0"),
        "label": Feature("labels", "int64, (length,): place in labels.json at the first piece of a word, -1 elsewhere"),
        "row": Feature("integer", _ROW, is_read=False),
    },
    "question_answering": {
        "token_ids": Feature("tokens", "int64, (length,): [CLS] question [SEP] part of the context [SEP]; not padded"),
        "segment_ids": _SEGMENTS,
        "positions": Feature(
            "pair", "int64, (2,): the tokens where the answer starts and ends; 0 where the part does not hold it"
        ),
        "row": Feature("integer", _ROW, is_read=False),
    },
    "embedding": {
        "token_ids": Feature("tokens", "int64, (length,): [CLS] text [SEP]; not padded"),
        "segment_ids": Feature("tokens", "int64, (length,): 0"),
        "second_token_ids": Feature("tokens", "int64, (length,): [CLS] second text [SEP]; not padded"),
        "second_segment_ids": Feature("tokens", "int64, (length,): 0"),
        "value": Feature("number", "float32, -1 to 1: how alike both texts are"),
    },
    "retrieval": {
        "token_ids": Feature("tokens", "int64, (length,): [CLS] query [SEP]; not padded", is_narrow=True),
        "segment_ids": Feature("tokens", "int64, (length,): 0"),
        "second_token_ids": Feature("tokens", "int64, (length,): [CLS] passage [SEP]; not padded"),
        "second_segment_ids": Feature("tokens", "int64, (length,): 0"),
        "negative_texts": Feature("texts", "int64: [CLS] negative [SEP] of each negative, one after the other"),
        "negative_lengths": Feature("lengths", "int64, (negatives,): the number of tokens of each negative"),
        "answer_groups": Feature("group_set", "int64, (answers,): the groups of all passages of the query"),
        "passage_group": Feature("group", "int64: equal for passages that answer the same queries of the split"),
        "negative_groups": Feature("groups", "int64, (negatives,): as passage_group"),
        "row": Feature("group", _ROW, is_read=False),
    },
}


def given_answers(task: str) -> dict[str, Feature]:
    """The features that rows of a task have besides, where a teacher's answers stand in the user's data."""
    return {**_GIVEN, "negative_scores": _NEGATIVE_SCORES} if compares_rows(task) else _GIVEN


def record_schema(content: Mapping[str, Any]) -> dict[str, Feature]:
    """The features of the records that a `features.json` describes, without `teacher_answers`."""
    named = content.get("features", ())
    given = {name: feature for name, feature in given_answers(content["task"]).items() if name in named}
    return {**SCHEMAS[content["task"]], **given}


def compares_rows(task: str) -> bool:
    """Whether the loss of a task compares the rows of a batch. Such batches are random, not grouped by length.

    Rows that are compared say which others are not negatives of theirs.
    """
    return any(feature.kind == "group_set" for feature in SCHEMAS.get(task, {}).values())


def list_feature(task: str) -> str | None:
    """The feature that is equal for the rows of a list, which share batches; None for a task without lists."""
    return next((name for name, feature in SCHEMAS.get(task, {}).items() if feature.kind == "list"), None)


def group_passages(answers: Iterable[Iterable[int]], passages: int) -> list[int]:
    """The group of each of some passages: equal where they answer the same queries, given the passages of each query.

    A loss asks whether a passage answers a query, nothing else. A query has few groups, however many passages it has.
    """
    queries: list[list[int]] = [[] for _ in range(passages)]
    for query, indices in enumerate(answers):
        for index in indices:
            queries[index].append(query)
    groups: dict[tuple[int, ...], int] = {}
    return [groups.setdefault(tuple(answered), len(groups)) for answered in queries]
