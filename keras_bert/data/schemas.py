"""What the records of each task hold: the one place that writers and readers look at."""

from typing import Literal, NamedTuple

Kind = Literal["tokens", "labels", "integer", "pair", "number", "answers"]
"""Of a feature: whole numbers along the tokens, or along them with a mark where there is none; one whole number; two;
one float; as many floats as a model answers."""


class Feature(NamedTuple):
    """A feature of a record.

    Attributes:
        kind: what it holds.
        meaning: for `features.json`.
        is_read: whether a batch has it; else it only says where the record comes from.
    """

    kind: Kind
    meaning: str
    is_read: bool = True


_TOKENS = Feature("tokens", "int64, (length,): [CLS] text [SEP], or [CLS] text [SEP] second text [SEP]; not padded")
_SEGMENTS = Feature("tokens", "int64, (length,): 0 up to the first [SEP], then 1")
_ROW = "int64: the row, from 0, in the split's .jsonl.gz; a long one has several records"

# What a teacher answers to a row, where `features.json` says under this name how many numbers that are, whether for
# each token, and what stands for padding then: {"shape": [2], "along": true, "filling": -120.0}.
TEACHER_ANSWERS = "teacher_answers"

# In the place of a task: rows that have none.
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
    "regression": {
        "token_ids": _TOKENS,
        "segment_ids": _SEGMENTS,
        "value": Feature("number", "float32: the number"),
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
}
