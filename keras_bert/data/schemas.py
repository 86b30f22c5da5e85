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
"""The kind of a feature.

- `tokens`: an integer for each token
- `labels`: an integer for each token, `IGNORED` for tokens without a label
- `integer`: the index of a label
- `group`: the group of a text; `group_set`: any number of groups
- `list`: the list of a row; the rows of a list follow one another and share batches
- `flags`: 0 or 1 for each label
- `pair`: two integers
- `number`: a float
- `answers`: the floats of a model's answer

Four kinds describe any number of texts of one row: their tokens, one text after the other (`texts`), and for each text
the number of its tokens (`lengths`), its group (`groups`), and a teacher's score (`scores`).
"""


class Feature(NamedTuple):
    """A feature of a record.

    Attributes:
        is_read: whether batches contain it; otherwise it only names the source of the record.
        is_narrow: whether batches pad these tokens only to the longest ones of the split, as other texts of a row are
            longer.
    """

    kind: Kind
    meaning: str
    is_read: bool = True
    is_narrow: bool = False


_TOKENS = Feature("tokens", "int64, (length,): [CLS] text [SEP], or [CLS] text [SEP] second text [SEP]; not padded")
_SEGMENTS = Feature("tokens", "int64, (length,): 0, and the second text's segment of a pair from its first token on")
_ROW = "int64: the row, from 0, in the split's .jsonl.gz; a long one has several records"

# The teacher's answers to a row. `features.json` describes them under this name: the shape, whether each token has an
# answer, and the value of padding, e.g. {"shape": [2], "along": true, "filling": -120.0}.
TEACHER_ANSWERS = "teacher_answers"

# Further features if the user's data hold the teacher's answers: a row may have no answer, or no label.
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
    "regression": {"token_ids": _TOKENS, "segment_ids": _SEGMENTS, "value": Feature("number", "float32: the number")},
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
    """The additional features of a task's rows if the user's data hold a teacher's answers."""
    return {**_GIVEN, "negative_scores": _NEGATIVE_SCORES} if compares_rows(task) else _GIVEN


def record_schema(content: Mapping[str, Any]) -> dict[str, Feature]:
    """The features of the records that a `features.json` describes, without `teacher_answers`."""
    named = content.get("features", ())
    given = {name: feature for name, feature in given_answers(content["task"]).items() if name in named}
    return {**SCHEMAS[content["task"]], **given}


def compares_rows(task: str) -> bool:
    """Whether the loss of a task compares the rows of a batch. Such batches are random, not grouped by length.

    Features of such rows say which other rows of the batch are not their negatives.
    """
    return any(feature.kind == "group_set" for feature in SCHEMAS.get(task, {}).values())


def list_feature(task: str) -> str | None:
    """The feature that is equal for the rows of a list, which share batches; None for a task without lists."""
    return next((name for name, feature in SCHEMAS.get(task, {}).items() if feature.kind == "list"), None)


def group_passages(answers: Iterable[Iterable[int]], passages: int) -> list[int]:
    """The group of each passage; passages that answer the same queries share a group.

    `answers` has the indices of the passages of each query.

    A loss asks whether a passage answers a query, nothing else. A query has few groups, however many passages it has.
    """
    queries: list[list[int]] = [[] for _ in range(passages)]
    for query, indices in enumerate(answers):
        for index in indices:
            queries[index].append(query)
    groups: dict[tuple[int, ...], int] = {}
    return [groups.setdefault(tuple(answered), len(groups)) for answered in queries]
