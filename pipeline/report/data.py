"""What a run learnt from: documents, rows that were made of them, and labelled rows."""

import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from components.artifacts.corpus import Corpus
from components.artifacts.pretraining_examples import PretrainingExamples
from components.artifacts.task_examples import TaskExamples
from components.artifacts.text_examples import TextExamples
from components.scoring.mistakes import cut
from pipeline.report.record import Record, read_json
from pipeline.views.statistics import STATISTICS_FILE, format_value

# Rows and documents that are shown, and rows whose words are counted.
_SHOWN, _COUNTED = 5, 2000
_MOST_LABELS = 20
# Of the kinds of vocabularies that there are.
_SPECIAL = ("[CLS]", "[SEP]", "<s>", "</s>")
_SPLITS = ("train", "validation", "test")


class Bars(NamedTuple):
    """A histogram: each bar's label, count and share of the longest."""

    title: str
    bars: list[tuple[str, str, float]]


class Piece(NamedTuple):
    """A piece of a row, what stood there if it is hidden, and whether it is no part of the text."""

    text: str
    was: str | None
    is_special: bool


class Sample(NamedTuple):
    """An example for a person: named texts; or pieces; or words with tags."""

    texts: list[tuple[str, str]]
    pieces: list[Piece]
    words: list[tuple[str, str]]


class Block(NamedTuple):
    """One artifact of data.

    Attributes:
        step: that made it.
        title: what it is.
        tables: title -> {label: value}.
        bars: histograms.
        samples_title: of the examples.
        samples: a few of them.
    """

    step: str
    title: str
    tables: dict[str, dict[str, str]]
    bars: list[Bars]
    samples_title: str
    samples: list[Sample]


def read_data(record: Record) -> list[Block]:
    """All data of a run, in the order of its steps."""
    readers = {Corpus: _corpus, PretrainingExamples: _masked, TextExamples: _texts, TaskExamples: _labelled}
    found = {
        step.name: reader(step.name, folder)
        for kind, reader in readers.items()
        for step, folder in record.outputs(kind.__name__)
    }
    return _merged([found[step.name] for step in record.steps if step.name in found])


def _merged(blocks: Sequence[Block]) -> list[Block]:
    """The same rows in the pieces of two vocabularies as one block, with the tables of both where they differ."""
    kept: list[Block] = []
    for block in blocks:
        alike = next((own for own in kept if own[3:] == block[3:] and own.title == block.title), None)
        if alike is None or not block.samples:
            kept.append(block)
            continue
        more = {f"{title}, {block.step}": own for title, own in block.tables.items() if own != alike.tables.get(title)}
        kept[kept.index(alike)] = alike._replace(step=f"{alike.step}, {block.step}", tables={**alike.tables, **more})
    return kept


def _corpus(step: str, folder: Path) -> Block:
    statistics = read_json(folder / STATISTICS_FILE) or {}
    tables, bars = _parted(statistics)
    dropped = [line for file in sorted(folder.glob("dropped-*.jsonl.gz")) for line in _head(file, _SHOWN)][:_SHOWN]
    samples = [
        Sample([(" ".join(filter(None, (line["reason"], line.get("detail")))), cut(line["text"]))], [], [])
        for line in dropped
    ]
    return Block(step, "Documents", tables, bars, "Dropped documents", samples)


def _masked(step: str, folder: Path) -> Block:
    tables, bars = _parted(read_json(folder / STATISTICS_FILE) or {})
    samples = [_masked_sample(row) for row in (read_json(folder / "samples.json") or [])[:_SHOWN]]
    return Block(step, "Rows for pre-training", tables, bars, "Rows as the model sees them", samples)


def _masked_sample(row: Mapping[str, Any]) -> Sample:
    hidden = dict(map(tuple, row["hidden"]))
    pieces = enumerate(row["pieces"])
    return Sample([], [Piece(piece, hidden.get(place), piece in _SPECIAL) for place, piece in pieces], [])


def _texts(step: str, folder: Path) -> Block:
    counts = (read_json(folder / "features.json") or {}).get("counts", {})
    return Block(step, "Rows of text", {"rows": _formatted(counts)}, [], "", [])


def _labelled(step: str, folder: Path) -> Block:
    content = read_json(folder / "features.json") or {}
    rows = list(_head(folder / "train.jsonl.gz", _COUNTED))
    tables = {"rows": _formatted(_ordered(content["rows"]))}
    cut_shares = {split: f"{100 * share:.2f} %" for split, share in _ordered(content["truncated_share"]).items()}
    tables[f"cut at {content['max_length']} tokens"] = cut_shares
    bars = [_label_bars(split, counts) for split, counts in _ordered(content["labels"]).items()]
    few = f", the first {_COUNTED:,} rows" if content["rows"]["train"] > _COUNTED else ""
    bars.append(_bars(f"words a row, train{few}", _histogram([_count_words(row) for row in rows])))
    samples = [_labelled_sample(row) for row in rows[:_SHOWN]]
    title = f"Labelled rows, {content['task'].replace('_', ' ')}"
    return Block(step, title, tables, bars, "Rows of training", samples)


def _labelled_sample(row: Mapping[str, Any]) -> Sample:
    if "words" in row:
        return Sample([], [], list(zip(map(cut, row["words"][:60]), row["tags"][:60], strict=True)))
    told = {name: value for name, value in row.items() if value is not None and name != "id"}
    answers = told.pop("answers", None)
    texts = [(name.replace("_", " "), cut(str(value))) for name, value in told.items()]
    if answers is not None:
        texts.append(("answer", " / ".join(dict.fromkeys(answers["text"])) or "(none)"))
    return Sample(texts, [], [])


def _count_words(row: Mapping[str, Any]) -> int:
    if "words" in row:
        return len(row["words"])
    texts = (row.get(name) for name in ("text", "second_text", "question", "context"))
    return sum(len(text.split()) for text in texts if text)


def _parted(statistics: Mapping[str, Any]) -> tuple[dict[str, dict[str, str]], list[Bars]]:
    """The tables and the histograms of `statistics.json`, see `pipeline.views.statistics`."""
    tables = {title: _formatted(block) for title, block in statistics.items() if isinstance(block, Mapping)}
    return tables, [_bars(title, block) for title, block in statistics.items() if not isinstance(block, Mapping)]


def _formatted(block: Mapping[str, Any]) -> dict[str, str]:
    return {str(label): format_value(value) for label, value in block.items()}


def _ordered(splits: Mapping[str, Any]) -> dict[str, Any]:
    return {split: splits[split] for split in _SPLITS if split in splits}


def _bars(title: str, counts: Any) -> Bars:
    pairs = [(str(label), count) for label, count in counts]
    most = max((count for _, count in pairs), default=0) or 1
    return Bars(title, [(label, format_value(count), count / most) for label, count in pairs])


def _label_bars(split: str, counts: Mapping[str, int]) -> Bars:
    """All labels, or of many the commonest."""
    common = sorted(counts, key=lambda label: -counts[label])[:_MOST_LABELS]
    few = "" if len(common) == len(counts) else f", the commonest {len(common)} of {len(counts)}"
    return _bars(f"labels, {split}{few}", [(label, counts[label]) for label in counts if label in set(common)])


def _histogram(values: Sequence[int]) -> list[list[Any]]:
    """How many values are in each of some bars of equal width."""
    import numpy as np

    from components.rows.statistics import bars

    return bars(np.bincount(values).tolist()) if values else []


def _head(file: Path, most: int) -> Iterator[dict[str, Any]]:
    """The first records of a compressed file of JSON lines."""
    if file.is_file():
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            yield from map(json.loads, islice(lines, most))
