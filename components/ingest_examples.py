"""Labelled rows and Vocabulary -> TaskExamples."""

import dataclasses
import logging
from typing import Any

from components.artifacts.data import TaskExamples, Vocabulary
from components.dsl.component import component
from components.dsl.signature import Input, Output
from components.dsl.workplace import report_progress
from components.examples.base import Encoding, TaskRows
from components.examples.near_overlap import describe_near_overlap, resolve_near_overlap
from components.examples.overlap import OverlapCounts, count_overlap, count_rows, describe_overlap, resolve_overlap
from components.examples.registry import TASK_ROWS, write_rows
from components.examples.row_schema import SCHEMA_FILE, infer_schema
from components.examples.splits import split_rows
from components.sources.docstring_task import DocstringTask
from components.sources.label_sets import LabelSetSource
from components.sources.questions import QuestionSource
from components.sources.retrieval import RetrievalSource
from components.sources.shared import SPLITS
from components.sources.table import TableSource
from components.sources.tagged_words import SentenceSource
from keras_bert.checks import check
from keras_bert.options.prompts import Prompts

logger = logging.getLogger(__name__)

Splits = dict[str, list[Any]]


@component(libraries=("scipy", "tensorflow-text", "tokenizers"))
def ingest_examples(
    vocabulary: Input[Vocabulary],
    examples: Output[TaskExamples],
    source: TableSource | LabelSetSource | DocstringTask | SentenceSource | QuestionSource | RetrievalSource,
    max_length: int = 128,
    stride: int | None = None,
    max_query_length: int | None = None,
    prompts: Prompts = Prompts(),
) -> None:
    """Tokenizes labelled rows into `train.tfrecord`, `validation.tfrecord` and `test.tfrecord`.

    `features.json` says what the records hold and what is made of them. A split that the source does not have is taken
    out of training: a tenth, of each label where there are labels. The rows also stand as they were read in
    `train.jsonl.gz`, `validation.jsonl.gz` and `test.jsonl.gz`. `schema.json` has properties of the training rows,
    which later rows are compared with. Rows of different splits with the same texts are counted, and treated as the
    source's `overlap` says; those with nearly the same texts as its `near_overlap` says.

    Args:
        vocabulary: of the model.
        examples: the written rows.
        source: the rows; its `task` decides how they are labelled.
        max_length: the most tokens of a record.
        stride: for questions, tokens of a context from one window to the next; a third of `max_length` if None.
        max_query_length: for questions, the most tokens of one; a sixth of `max_length` if None.
        prompts: for retrieval, the texts in front of queries and passages.

    Raises:
        ValueError: `max_length` is too small, or the windows of a context have no room or leave gaps.
        InputError: the rows cannot be used, are too few for three splits, or are shared by splits that may share none.
    """
    check("ingest_examples", "max_length", max_length >= 8, "be at least 8", max_length)
    windows = _size_windows(max_length, stride, max_query_length)
    task, given = TASK_ROWS[source.task], source.splits()
    # Of all rows that are there: a rare tag may be in none of those that stay in training.
    labels = task.labels(source, given["train"])
    splits = _complete(resolve_overlap(given, task, source.overlap), task)
    splits, near_overlap = resolve_near_overlap(splits, task, source.near_overlap)
    task.check(splits)
    overlap = count_overlap(splits, task.key)
    rows = count_rows(splits)
    clauses = [*describe_overlap(overlap, rows, task.several), *describe_near_overlap(near_overlap, rows, task.several)]
    for clause in clauses:
        logger.warning(clause)
    from keras_bert.data.records import write_features, write_labels, write_records
    from keras_bert.data.schemas import SCHEMAS
    from keras_bert.tokenizers.loading import load_eager_tokenizer, load_tokenizer

    tokenizer = load_tokenizer(vocabulary.path)
    precision = source.label_precision if isinstance(source, LabelSetSource) else None
    counts, cut = {}, {}
    for number, split in enumerate(SPLITS):
        report_progress(number, len(SPLITS), f"tokenizing {split}")
        encoding = Encoding(tokenizer, labels, max_length, *windows, label_precision=precision, prompts=prompts)
        counts[split] = write_records(examples.file(f"{split}.tfrecord"), task.records(splits[split], encoding))
        # Where rows are not cut but read in parts, nothing is counted.
        cut[split] = round(encoding.cut[True] / max(1, encoding.cut.total()), 4)
        write_rows(examples.file(f"{split}.jsonl.gz"), task, splits[split])
    content = {
        "task": source.task,
        "features": {name: feature.meaning for name, feature in SCHEMAS[source.task].items()},
        "settings": task.settings(encoding, splits["train"]),
        "max_length": max_length,
        "counts": counts,
        "rows": {split: rows[split] for split in SPLITS},
        "overlap": overlap,
        "near_overlap": near_overlap,
        "labels": {split: _count(task, splits[split]) for split in SPLITS} if labels else {},
        "truncated_share": cut,
    }
    write_features(examples.path, content)
    schema = infer_schema(splits["train"], source, max_length, load_eager_tokenizer(vocabulary.path))
    examples.write_json(SCHEMA_FILE, dataclasses.asdict(schema))
    examples.counts = dict(counts) | _name_overlap(overlap, "in") | _name_overlap(near_overlap, "near")
    if labels:
        write_labels(examples.path, labels)
        examples.counts["labels"] = len(labels)


def _size_windows(max_length: int, stride: int | None, max_query_length: int | None) -> tuple[int, int]:
    """The stride of windows, and the most tokens of a question."""
    max_query_length = max_length // 6 if max_query_length is None else max_query_length
    stride = max_length // 3 if stride is None else stride
    room = max_length - 3 - max_query_length
    rule = f"be at least 1 and leave room for a context in {max_length} tokens"
    check("ingest_examples", "max_query_length", max_query_length >= 1 and room > 1, rule, max_query_length)
    rule = f"be at least 1 and less than the {room} tokens of a context that a window shows beside a long question"
    check("ingest_examples", "stride", 1 <= stride < room, rule, stride)
    return stride, max_query_length


def _complete(splits: Splits, task: TaskRows[Any]) -> Splits:
    """The splits, with those that are missing taken out of training."""
    missing = [split for split in SPLITS if split not in splits]
    if not missing:
        return splits
    parts = split_rows(splits["train"], missing, key=task.key, stratum=task.stratum, several=task.several)
    return {**splits, **parts}


def _name_overlap(overlap: OverlapCounts, relation: str) -> dict[str, int]:
    """The counts that are not 0, by names such as `test_in_train`."""
    return {
        f"{split}_{relation}_{other}": count
        for split, counts in overlap.items()
        for other, count in counts.items()
        if count
    }


def _count(task: TaskRows[Any], rows: list[Any]) -> dict[str, int]:
    return dict(sorted((task.count_labels(rows) or {}).items()))
