"""Labelled rows and Vocabulary -> TaskExamples."""

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from components.artifacts import TaskExamples, Vocabulary
from components.base import Input, Output, component, report_progress
from components.sources import DocstringTask, TableSource
from components.splits import carve
from components.tables import Row
from keras_bert.config import check

if TYPE_CHECKING:
    from keras_bert.tokenizer import Tokenizer

SPLITS = ("train", "validation", "test")
_FEATURES = {
    "token_ids": "int64, (length,): [CLS] text [SEP], or [CLS] text [SEP] second text [SEP]; not padded",
    "segment_ids": "int64, (length,): 0 up to the first [SEP], then 1",
    "label": "int64: place in labels.json",
    "text": "bytes, UTF-8",
    "second_text": "bytes, UTF-8, empty where there is none",
}
_ROWS_AT_ONCE = 1024


@component(libraries=("tensorflow-text", "datasketch"))
def ingest_examples(
    vocabulary: Input[Vocabulary],
    examples: Output[TaskExamples],
    source: TableSource | DocstringTask,
    max_length: int = 128,
) -> None:
    """Tokenizes labelled rows into `train.tfrecord`, `validation.tfrecord` and `test.tfrecord`.

    A split that the source does not have is taken out of training: a tenth of each label.

    Raises:
        ValueError: `max_length` is too small.
        InputError: the rows cannot be used, or are too few for three splits.
    """
    check("ingest_examples", "max_length", max_length >= 8, "be at least 8", max_length)
    splits = source.splits()
    missing = [split for split in SPLITS if split not in splits]
    if missing:
        splits.update(carve(splits["train"], missing))
    labels = sorted({row.label for row in splits["train"]})
    from keras_bert.records import write_features, write_labels, write_records
    from keras_bert.tokenizer import Tokenizer

    tokenizer = Tokenizer.load(vocabulary.path)
    truncated = {}
    for number, split in enumerate(SPLITS):
        report_progress(number, len(SPLITS), f"tokenizing {split}")
        cut: Counter[bool] = Counter()
        records = _serialize_rows(splits[split], labels, tokenizer, max_length, cut)
        write_records(examples.file(f"{split}.tfrecord"), records)
        truncated[split] = round(cut[True] / len(splits[split]), 4)
    counts = {split: len(splits[split]) for split in SPLITS}
    shares = {split: dict(sorted(Counter(row.label for row in splits[split]).items())) for split in SPLITS}
    description: dict[str, Any] = {"features": _FEATURES, "max_length": max_length, "counts": counts}
    pairs = splits["train"][0].second_text is not None
    write_features(examples.path, {**description, "labels": shares, "pairs": pairs, "truncated_share": truncated})
    write_labels(examples.path, labels)
    examples.counts = {**counts, "labels": len(labels)}


def _serialize_rows(
    rows: list[Row], labels: list[str], tokenizer: "Tokenizer", max_length: int, cut: Counter[bool]
) -> Iterator[bytes]:
    """Records of rows; `cut` counts which were too long."""
    from keras_bert.records import serialize

    label_ids = {label: number for number, label in enumerate(labels)}
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        part = rows[start : start + _ROWS_AT_ONCE]
        texts = [row.text for row in part]
        pairs = [row.second_text or "" for row in part] if part[0].second_text is not None else None
        encoded = {name: value.numpy() for name, value in tokenizer.encode(texts, pairs, max_length=max_length).items()}
        whole = tokenizer.tokenize(texts).row_lengths() + (2 if pairs is None else 3)
        whole = (whole if pairs is None else whole + tokenizer.tokenize(pairs).row_lengths()).numpy()
        for number, (row, length) in enumerate(zip(part, encoded["padding_mask"].sum(axis=1), strict=True)):
            cut[bool(whole[number] > length)] += 1
            yield serialize(
                {
                    "token_ids": encoded["token_ids"][number, :length].tolist(),
                    "segment_ids": encoded["segment_ids"][number, :length].tolist(),
                    "label": [label_ids[row.label]],
                    "text": row.text.encode(),
                    "second_text": (row.second_text or "").encode(),
                }
            )
