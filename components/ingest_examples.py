"""LabelledRows and Vocabulary -> TaskExamples."""

import dataclasses
import logging
from collections.abc import Mapping
from typing import Any

from components.artifacts.standard import Corpus, LabelledRows, RowSource, TaskExamples, Vocabulary
from components.beam.engine import BeamOptions
from components.dsl.component import Input, Local, Output, component
from components.dsl.step_folders import report_progress
from components.examples.base import Encoding
from components.examples.overlap import (
    CORPUS,
    HELD_OUT,
    SETTINGS,
    OverlapCounts,
    Relation,
    count_overlap,
    count_rows,
    describe_overlap,
    refuse_overlap,
)
from components.examples.question_answering import describe_left_out
from components.examples.registry import TASK_ROWS, read_labelled_rows, write_rows
from components.examples.row_schema import SCHEMA_FILE, infer_schema
from components.examples.source_rows import Splits
from components.sources.shared import SPLITS
from keras_bert.core.checks import check
from keras_bert.options.data import Prompts

logger = logging.getLogger(__name__)


@component(libraries=("apache-beam", "scipy", "sentencex", "tensorflow-text", "tokenizers"))
def ingest_examples(
    vocabulary: Input[Vocabulary],
    rows: Input[LabelledRows],
    examples: Output[TaskExamples],
    max_length: int = 128,
    stride: int | None = None,
    max_query_length: int | None = None,
    prompts: Prompts = Prompts(),
    corpus: Input[Corpus] | None = None,
    beam: Local[BeamOptions] = BeamOptions(),
) -> None:
    """Tokenizes labelled rows into `train.tfrecord`, `validation.tfrecord` and `test.tfrecord`.

    `features.json` describes the records. The files `train.jsonl.gz`, `validation.jsonl.gz` and `test.jsonl.gz` have
    the rows as they were read. `schema.json` has properties of the training rows, to compare new rows with. Rows of
    different splits with the same texts are counted.

    A record has at most `max_length` tokens. For questions, `stride` is the number of tokens of a context from one
    window to the next, a third of `max_length` if None, and `max_query_length` is a sixth if None. `prompts` are for
    retrieval. Validation and test rows are looked for in the corpus of the pre-training, if there is one.

    Raises:
        ValueError: `max_length` is too small, or the windows of a context have no room or leave gaps.
        InputError: the rows cannot be used, or the corpus has validation or test rows, which is forbidden.
    """
    check("ingest_examples", "max_length", max_length >= 8, "be at least 8", max_length)
    max_query_length = max_length // 6 if max_query_length is None else max_query_length
    stride = max_length // 3 if stride is None else stride
    room = max_length - 3 - max_query_length
    rule = f"be at least 1 and leave room for a context in {max_length} tokens"
    check("ingest_examples", "max_query_length", max_query_length >= 1 and room > 1, rule, max_query_length)
    rule = f"be at least 1 and less than the {room} tokens of a context that a window shows beside a long question"
    check("ingest_examples", "stride", 1 <= stride < room, rule, stride)
    source = rows.read()
    task, labels, near_overlap = TASK_ROWS[source.task], source.labels, source.near_overlap_counts
    splits = {split: read_labelled_rows(rows, split) for split in SPLITS}
    overlap = count_overlap(splits, task.key)
    row_counts = count_rows(splits)
    if corpus is not None:
        _add_corpus_leaks(corpus, splits, source, examples, beam, {"in": overlap, "near": near_overlap})
    overlaps = describe_overlap(overlap, row_counts, task.plural_name)
    for clause in (*overlaps, *describe_overlap(near_overlap, row_counts, task.plural_name, "near")):
        logger.warning(clause)
    from keras_bert.data.records import write_features, write_labels, write_records
    from keras_bert.data.schemas import TEACHER_ANSWERS, given_answers
    from keras_bert.tasks.registry import schema_of
    from keras_bert.tokenizers.loading import load_eager_tokenizer, load_tokenizer

    tokenizer = load_tokenizer(vocabulary.path)
    counts, cut, left_out = {}, {}, {}
    for number, split in enumerate(SPLITS):
        report_progress(number, len(SPLITS), f"tokenizing {split}")
        windows = (max_length, stride, max_query_length)
        encoding = Encoding(
            tokenizer,
            labels,
            *windows,
            label_precision=source.label_precision,
            has_teacher_answers=source.has_teacher_answers,
            prompts=prompts,
        )
        counts[split] = write_records(examples.file(f"{split}.tfrecord"), task.records(splits[split], encoding))
        # Tasks that read long rows in several windows count no truncated rows.
        cut[split] = round(encoding.cut[True] / max(1, encoding.cut.total()), 4)
        left_out[split] = len(encoding.left_out)
        write_rows(examples.file(f"{split}.jsonl.gz"), task, splits[split])
    for clause in describe_left_out(left_out, row_counts, max_length):
        logger.warning(clause)
    content: dict[str, Any] = {
        "task": source.task,
        "features": {name: feature.meaning for name, feature in schema_of(source.task).items()},
        "settings": task.settings(encoding, splits["train"]),
        "max_length": max_length,
        "counts": counts,
        "rows": {split: row_counts[split] for split in SPLITS},
        "overlap": overlap,
        "near_overlap": near_overlap,
        "labels": {split: dict(sorted((task.count_labels(splits[split]) or {}).items())) for split in SPLITS if labels},
        "truncated_share": cut,
        "left_out": left_out,
    }
    if source.has_teacher_answers:
        given = given_answers(source.task).items()
        content["features"] |= {name: feature.meaning for name, feature in given}
        content[TEACHER_ANSWERS] = {"shape": task.answer_shape(labels), "along": task.answers_by_word, "filling": 0.0}
    write_features(examples.path, content)
    tokenizer = load_eager_tokenizer(vocabulary.path)
    schema = infer_schema(splits["train"], task, source.fields, max_length, tokenizer)
    examples.write_json(SCHEMA_FILE, dataclasses.asdict(schema))
    for clause in schema.describe_truncation(cut["train"]):
        logger.warning(clause)
    examples.counts = dict(counts) | _name_overlap(overlap, "in") | _name_overlap(near_overlap, "near")
    if labels:
        write_labels(examples.path, labels)
        examples.counts["labels"] = len(labels)


def _add_corpus_leaks(
    corpus: Corpus,
    splits: Splits,
    source: RowSource,
    examples: TaskExamples,
    beam: BeamOptions,
    counts: Mapping[Relation, OverlapCounts],
) -> None:
    """Counts the validation and test rows that the corpus contains, and adds them to the counts of overlaps."""
    from components.examples.corpus_leaks import scan_corpus
    from components.examples.held_out_texts import list_held_out_texts

    task, near = TASK_ROWS[source.task], source.near_overlap != "off"
    texts = list_held_out_texts(splits, task)
    report_progress(0, 1, "looking for validation and test rows in the corpus")
    leaks = scan_corpus(corpus, texts, near=near, folder=examples.path, beam=beam)
    for relation, setting in SETTINGS.items():
        treatment = getattr(source, setting)
        if treatment == "off":
            continue
        leaked_texts = {texts[number] for number in (leaks.equal if relation == "in" else leaks.near)}
        rows = {split: sum(not leaked_texts.isdisjoint(task.key(row)) for row in splits[split]) for split in HELD_OUT}
        for split, count in rows.items():
            counts[relation][split][CORPUS] = count
        if treatment == "error" and any(rows.values()):
            shares = " and ".join(f"{count} {split}" for split, count in rows.items() if count)
            nearly = "nearly " * (relation == "near")
            refuse_overlap(relation, [f"{shares} rows have {nearly}their {task.plural_name} in the corpus"])


def _name_overlap(overlap: OverlapCounts, relation: str) -> dict[str, int]:
    """The counts that are not 0, by names such as `test_in_train`."""
    return {
        f"{split}_{relation}_{other}": count
        for split, counts in overlap.items()
        for other, count in counts.items()
        if count
    }
