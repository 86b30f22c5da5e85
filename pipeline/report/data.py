"""Reads the data of a run for its page: documents, rows of pre-training, and labelled rows."""

import gzip
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from components.artifacts.standard import Corpus, PretrainingExamples, TaskExamples, TextExamples
from components.examples.row_schema import SCHEMA_FILE
from components.rows.histogram import bars
from components.scoring.mistakes import cut
from components.sources.teacher_columns import TEACHER
from pipeline.report.record import RunRecord, read_json
from pipeline.views.statistics import STATISTICS_FILE, format_value

# How many rows and documents the page shows, and of how many rows it counts the words.
_SHOWN, _COUNTED = 5, 2000
_MOST_LABELS = 20
# Steps that leave out some of the rows of another step, which the page shows already.
_PARTS_OF_ROWS = ("leave_out_fold",)
_MOST_SCRIPTS = 5
# The special tokens of all kinds of vocabularies, without padding and masks.
_SPECIAL = ("[CLS]", "[SEP]", "<s>", "</s>")
_SPLITS = ("train", "validation", "test")
_SPLIT_NAME = re.compile(rf"\b({'|'.join(_SPLITS)})\b")


class Bars(NamedTuple):
    """A histogram: label and count of every bar, and its share of the longest one."""

    title: str
    bars: list[tuple[str, str, float]]


class RowToken(NamedTuple):
    """A token of a row for pre-training; `was` is the token that the model must predict here, or None."""

    text: str
    was: str | None
    is_special: bool


class Sample(NamedTuple):
    """An example: named texts, or tokens, or words with tags; the others are empty."""

    texts: list[tuple[str, str]]
    tokens: list[RowToken]
    words: list[tuple[str, str]]


class DataSection(NamedTuple):
    """The section of the page about one artifact with data; a group of histograms has one figure of several splits."""

    step: str
    title: str
    tables: dict[str, dict[str, str]]
    histograms: list[list[Bars]]
    samples_title: str
    samples: list[Sample]


def read_data(record: RunRecord) -> list[DataSection]:
    """The data of all steps of a run, in their order."""
    readers = {
        Corpus: _read_corpus,
        PretrainingExamples: _read_masked_rows,
        TextExamples: _read_text_rows,
        TaskExamples: _read_labelled_rows,
    }
    sections = {
        step.name: reader(step.name, folder)
        for kind, reader in readers.items()
        for step, folder in record.outputs(kind.__name__)
        if step.done.component not in _PARTS_OF_ROWS
    }
    return _merge_equal_rows([sections[step.name] for step in record.steps if step.name in sections])


def _merge_equal_rows(sections: Sequence[DataSection]) -> list[DataSection]:
    """Merges sections whose rows only differ in the vocabulary, with the tables of both where they differ."""
    kept: list[DataSection] = []
    for section in sections:
        equal = next((other for other in kept if (other.title, other[3:]) == (section.title, section[3:])), None)
        if equal is None or not section.samples:
            kept.append(section)
            continue
        tables = {
            f"{title}, {section.step}": table
            for title, table in section.tables.items()
            if table != equal.tables.get(title)
        }
        step = f"{equal.step}, {section.step}"
        kept[kept.index(equal)] = equal._replace(step=step, tables={**equal.tables, **tables})
    return kept


def _read_corpus(step: str, folder: Path) -> DataSection:
    tables, histograms = _split_statistics(folder)
    dropped = [line for file in sorted(folder.glob("dropped-*.jsonl.gz")) for line in _head(file, _SHOWN)][:_SHOWN]
    samples = [
        Sample([(" ".join(filter(None, (line["reason"], line.get("detail")))), cut(line["text"]))], [], [])
        for line in dropped
    ]
    return DataSection(step, "Documents", tables, histograms, "Dropped documents", samples)


def _read_masked_rows(step: str, folder: Path) -> DataSection:
    tables, histograms = _split_statistics(folder)
    samples = []
    for row in (read_json(folder / "samples.json") or [])[:_SHOWN]:
        hidden, tokens = dict(map(tuple, row["hidden"])), enumerate(row["pieces"])
        row_tokens = [RowToken(token, hidden.get(index), token in _SPECIAL) for index, token in tokens]
        samples.append(Sample([], row_tokens, []))
    return DataSection(step, "Rows for pre-training", tables, histograms, "Rows as the model sees them", samples)


def _read_text_rows(step: str, folder: Path) -> DataSection:
    counts = (read_json(folder / "features.json") or {}).get("counts", {})
    return DataSection(step, "Rows of text", {"rows": _formatted(counts)}, [], "", [])


def _read_labelled_rows(step: str, folder: Path) -> DataSection:
    content = read_json(folder / "features.json") or {}
    rows = list(_head(folder / "train.jsonl.gz", _COUNTED))
    tables = {"rows": _formatted(_ordered(content["rows"]))}
    cut_shares = {split: f"{100 * share:.2f} %" for split, share in _ordered(content["truncated_share"]).items()}
    tables[f"cut at {content['max_length']} tokens"] = cut_shares
    if any((left_out := content.get("left_out", {})).values()):
        tables["questions whose answer stands whole in no window"] = _formatted(_ordered(left_out))
    for title, field in (("rows with the same texts", "overlap"), ("rows with nearly the same texts", "near_overlap")):
        shared = content.get(field, {}).items()
        counts = {f"{split} in {other}": count for split, others in shared for other, count in others.items()}
        if any(counts.values()):
            tables[title] = _formatted(counts)
    tables |= _schema_tables(read_json(folder / SCHEMA_FILE) or {})
    histograms = []
    for split, counts in _ordered(content["labels"]).items():
        common = sorted(counts, key=lambda label: -counts[label])[:_MOST_LABELS]
        few = "" if len(common) == len(counts) else f", the most frequent {len(common)} of {len(counts)}"
        pairs = [(label, counts[label]) for label in counts if label in set(common)]
        histograms.append(_bars(f"labels, {split}{few}", pairs))
    few = f", the first {_COUNTED:,} rows" if content["rows"]["train"] > _COUNTED else ""
    words = Counter(map(_count_words, rows))
    lengths = bars([words[length] for length in range(max(words, default=-1) + 1)])
    histograms.append(_bars(f"words a row, train{few}", lengths))
    samples = [_labelled_sample(row) for row in rows[:_SHOWN]]
    title = f"Labelled rows, {content['task'].replace('_', ' ')}"
    return DataSection(step, title, tables, _group(histograms), "Rows of training", samples)


def _schema_tables(schema: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """What later rows are held against, besides labels; nothing for runs of versions without a schema."""
    if not schema:
        return {}
    shares = {
        **{f"letters in {script}": share for script, share in list(schema["scripts"].items())[:_MOST_SCRIPTS]},
        "unknown tokens": schema["unknown"],
        f"rows above {schema['max_length']} tokens": schema["longer"],
    }
    edges, counts = schema["length_edges"], schema["lengths"]
    names = [*(f"up to {edge:g} tokens" for edge in edges), f"above {edges[-1]:g} tokens" if edges else "equal lengths"]
    return {
        f"schema ({SCHEMA_FILE}), training rows": {name: f"{100 * share:.2f} %" for name, share in shares.items()},
        "schema, lengths of a sample": dict(zip(names, map(format_value, counts), strict=True)),
    }


def _labelled_sample(row: Mapping[str, Any]) -> Sample:
    if "words" in row:
        return Sample([], [], list(zip(map(cut, row["words"][:60]), row["tags"][:60], strict=True)))
    fields = {name: value for name, value in row.items() if value is not None and name != "id"}
    answers, teacher = fields.pop("answers", None), fields.pop(TEACHER, None)
    named = {
        name.replace("_", " "): (", ".join(value) or "(none)") if isinstance(value, list) else str(value)
        for name, value in fields.items()
    }
    texts = [(name, cut(text)) for name, text in named.items()]
    if answers is not None:
        texts.append(("answer", " / ".join(dict.fromkeys(answers["text"])) or "(none)"))
    if teacher is not None:
        texts.append((TEACHER, ", ".join(f"{number:.4g}" for number in teacher[0])))
    return Sample(texts, [], [])


def _count_words(row: Mapping[str, Any]) -> int:
    if "words" in row:
        return len(row["words"])
    texts = (row.get(name) for name in ("text", "second_text", "question", "context"))
    return sum(len(text.split()) for text in texts if text)


def _split_statistics(folder: Path) -> tuple[dict[str, dict[str, str]], list[list[Bars]]]:
    """Splits `statistics.json` into tables and grouped histograms, see `pipeline.views.statistics`."""
    blocks = (read_json(folder / STATISTICS_FILE) or {}).items()
    tables = {title: _formatted(block) for title, block in blocks if isinstance(block, Mapping)}
    return tables, _group([_bars(title, block) for title, block in blocks if not isinstance(block, Mapping)])


def _formatted(block: Mapping[str, Any]) -> dict[str, str]:
    return {str(label): format_value(value) for label, value in block.items()}


def _ordered(splits: Mapping[str, Any]) -> dict[str, Any]:
    return {split: splits[split] for split in _SPLITS if split in splits}


def _bars(title: str, counts: Any) -> Bars:
    pairs = [(str(label), count) for label, count in counts]
    most = max((count for _, count in pairs), default=0) or 1
    return Bars(title, [(label, format_value(count), count / most) for label, count in pairs])


def _group(histograms: Sequence[Bars]) -> list[list[Bars]]:
    """Groups histograms whose titles only differ in the split."""
    groups: dict[str, list[Bars]] = {}
    for histogram in histograms:
        groups.setdefault(_SPLIT_NAME.sub("", histogram.title), []).append(histogram)
    return list(groups.values())


def _head(file: Path, most: int) -> Iterator[dict[str, Any]]:
    """Reads the first records of a compressed file of JSON lines; none if it is missing."""
    if file.is_file():
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            yield from map(json.loads, islice(lines, most))
