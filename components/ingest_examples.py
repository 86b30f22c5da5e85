"""Labelled rows and Vocabulary -> TaskExamples."""

import gzip
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from components.artifacts import TaskExamples, Vocabulary
from components.base import Input, Output, component
from components.held_out import hold_out
from components.sources import DocstringTask, TableSource
from components.splits import carve
from components.squad import Question, as_fields
from components.task_records import (
    FEATURES,
    serialize_labelled,
    serialize_numbers,
    serialize_questions,
    serialize_sentences,
)
from components.task_sources import QuestionSource, SentenceSource
from components.workplace import report_progress
from keras_bert.config import check

if TYPE_CHECKING:
    from keras_bert.tokenizer import Tokenizer

SPLITS = ("train", "validation", "test")

# Tasks of which a row may give several records, or none: the rows are kept as they were, to evaluate on.
_SEVERAL_RECORDS = ("token_classification", "question_answering")

Splits = dict[str, list[Any]]
Serializer = Callable[[list[Any], Counter[bool]], Iterator[bytes]]


@component(libraries=("tensorflow-text", "datasketch"))
def ingest_examples(
    vocabulary: Input[Vocabulary],
    examples: Output[TaskExamples],
    source: TableSource | DocstringTask | SentenceSource | QuestionSource,
    max_length: int = 128,
    stride: int | None = None,
    max_query_length: int | None = None,
) -> None:
    """Tokenizes labelled rows into `train.tfrecord`, `validation.tfrecord` and `test.tfrecord`.

    `features.json` says what the records hold. A split that the source does not have is taken out of training: a
    tenth, of each label where there are labels. Tagged sentences (entities in BIO) and questions also stand as they
    were read in `train.jsonl.gz`, `validation.jsonl.gz` and `test.jsonl.gz`, which sources can read again.

    Args:
        vocabulary: of the model.
        examples: what is written.
        source: the rows; its `task` says what becomes of them.
        max_length: the most tokens of a record.
        stride: for questions, pieces of a context from one window to the next; a third of `max_length` if None.
        max_query_length: for questions, the most pieces of one; a sixth of `max_length` if None.

    Raises:
        ValueError: `max_length` is too small, or the windows of a context have no room or leave gaps.
        InputError: the rows cannot be used, or are too few for three splits.
    """
    check("ingest_examples", "max_length", max_length >= 8, "be at least 8", max_length)
    windows = _size_windows(max_length, stride, max_query_length)
    given = source.splits()
    # Of all rows that are there: a rare tag may be in none of those that stay in training.
    labels = _find_labels(source, given["train"])
    splits = _complete(given, source.task)
    from keras_bert.records import write_features, write_labels, write_records
    from keras_bert.tokenizer import Tokenizer

    serialize = _choose_serializer(source.task, labels, Tokenizer.load(vocabulary.path), windows)
    counts: dict[str, int] = {}
    cut: dict[str, Counter[bool]] = {split: Counter() for split in SPLITS}
    for number, split in enumerate(SPLITS):
        report_progress(number, len(SPLITS), f"tokenizing {split}")
        counts[split] = write_records(examples.file(f"{split}.tfrecord"), serialize(splits[split], cut[split]))
        if source.task in _SEVERAL_RECORDS:
            _write_rows(examples.file(f"{split}.jsonl.gz"), splits[split])
    description = {"features": FEATURES[source.task], "task": source.task, "counts": counts, "max_length": max_length}
    write_features(examples.path, {**description, **_describe(source.task, splits, cut, windows)})
    examples.counts = dict(counts)
    if labels:
        write_labels(examples.path, labels)
        examples.counts["labels"] = len(labels)


def _size_windows(max_length: int, stride: int | None, max_query_length: int | None) -> dict[str, int]:
    """The arguments of `cut_windows`."""
    max_query_length = max_length // 6 if max_query_length is None else max_query_length
    stride = max_length // 3 if stride is None else stride
    room = max_length - 3 - max_query_length
    rule = f"be at least 1 and leave room for a context in {max_length} tokens"
    check("ingest_examples", "max_query_length", max_query_length >= 1 and room > 1, rule, max_query_length)
    rule = f"be at least 1 and less than the {room} pieces of a context that a window shows beside a long question"
    check("ingest_examples", "stride", 1 <= stride < room, rule, stride)
    return {"max_length": max_length, "stride": stride, "max_query_length": max_query_length}


def _complete(splits: Splits, task: str) -> Splits:
    """The splits, with those that are missing taken out of training."""
    missing = [split for split in SPLITS if split not in splits]
    if not missing:
        return splits
    train = splits["train"]
    parts: Splits
    if task == "classification":
        parts = carve(train, missing)
    elif task == "regression":
        parts = hold_out(train, missing, lambda row: f"{row.text}\0{row.second_text}", "texts")
    elif task == "token_classification":
        parts = hold_out(train, missing, lambda row: "\0".join(row.words), "sentences")
    else:
        parts = hold_out(train, missing, lambda row: row.context, "contexts")
    return {**splits, **parts}


def _find_labels(source: Any, train: list[Any]) -> list[str]:
    """What the labels of the records are places in; none where they are none."""
    if isinstance(source, SentenceSource):
        return source.labels(train)
    return sorted({row.label for row in train}) if source.task == "classification" else []


def _choose_serializer(task: str, labels: list[str], tokenizer: "Tokenizer", windows: dict[str, int]) -> Serializer:
    """What makes records of the rows of a task, and counts which were too long for one."""
    longest = windows["max_length"]
    serializers: dict[str, Serializer] = {
        "classification": lambda rows, cut: serialize_labelled(rows, labels, tokenizer, longest, cut),
        "regression": lambda rows, cut: serialize_numbers(rows, tokenizer, longest, cut),
        "token_classification": lambda rows, _: serialize_sentences(rows, labels, tokenizer, longest),
        "question_answering": lambda rows, _: serialize_questions(rows, tokenizer, **windows),
    }
    return serializers[task]


def _describe(task: str, splits: Splits, cut: dict[str, Counter[bool]], windows: dict[str, int]) -> dict[str, Any]:
    """What `features.json` says of a task's rows."""
    description: dict[str, Any] = {}
    if task == "classification":
        description["labels"] = {split: _count(row.label for row in splits[split]) for split in SPLITS}
    elif task == "token_classification":
        tags = {split: (tag for row in splits[split] for tag in row.tags) for split in SPLITS}
        description["labels"] = {split: _count(tags[split]) for split in SPLITS}
    elif task == "question_answering":
        description |= windows
    if task in _SEVERAL_RECORDS:
        return {**description, "rows": {split: len(splits[split]) for split in SPLITS}}
    pairs = splits["train"][0].second_text is not None
    truncated = {split: round(cut[split][True] / len(splits[split]), 4) for split in SPLITS}
    return {**description, "pairs": pairs, "truncated_share": truncated}


def _count(values: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(values).items()))


def _write_rows(file: Path, rows: list[Any]) -> None:
    """Writes rows as they were read; the same rows give the same bytes."""
    with file.open("wb") as stream, gzip.GzipFile(filename="", fileobj=stream, mode="wb", mtime=0) as packed:
        for row in rows:
            fields = as_fields(row) if isinstance(row, Question) else row._asdict()
            packed.write(f"{json.dumps(fields, ensure_ascii=False)}\n".encode())
