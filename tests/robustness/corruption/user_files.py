"""Formats of the user's data and of settings files."""

import bz2
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from components.dsl.errors import InputError
from components.sources.label_sets import LabelSetSource
from components.sources.questions import QuestionSource
from components.sources.table import TableSource
from components.sources.tagged_words import SentenceSource
from components.sources.text import TextSource
from pipeline.job.files import load_settings
from tests.robustness.corruption.format import Format

_ROWS = [
    (f"the {animal} went by, number {number}", ("even", "odd")[number % 2])
    for number in range(24)
    for animal in ("cow", "hen")
]
_DOCUMENTS = "\n\n".join(f"A cow — number {number} — went by.\nNobody saw her." for number in range(20)).encode()
_TAGGED = "\n\n".join(f"the O\nold O\ncow B-animal\n{number} I-animal\nwent O" for number in range(20)) + "\n"
_SETTINGS = """name = "tiny"
max_length = 16
[corpus]
path = "texts"
[examples]
train = "rows.tsv"
[encoder]
num_layers = 2
hidden_size = 32
num_heads = 2
intermediate_size = 64
[pretraining]
steps = 6
[fine_tuning]
epochs = 6.0
learning_rate = 5e-3
[student]
num_layers = 1
[quantization]
recipe = "dynamic_wi8"
post_training = true
"""


def _text(name: str, pack: Callable[[bytes], bytes]) -> Format:
    def write(folder: Path) -> None:
        (folder / name).write_bytes(pack(_DOCUMENTS))

    return Format(name, write, lambda folder: TextSource(str(folder / name)).check(), (InputError,))


def _table(name: str, pack: Callable[[Path], object]) -> Format:
    def read(folder: Path) -> None:
        TableSource(str(folder / name)).check()

    return Format(name, lambda folder: pack(folder / name), read, (InputError,))


def _pack_zstd(content: bytes) -> bytes:
    import zstandard

    return zstandard.ZstdCompressor().compress(content)


def _json_lines() -> bytes:
    return "".join(json.dumps({"text": text, "label": label}) + "\n" for text, label in _ROWS).encode()


def _cells(separator: str, quote: str) -> bytes:
    rows = (("text", "label"), *_ROWS)
    return "".join(f"{quote}{text}{quote}{separator}{label}\n" for text, label in rows).encode()


def _columns() -> Any:
    import pyarrow as pa

    texts, labels = zip(*_ROWS, strict=True)
    return pa.table({"text": pa.array(texts), "label": pa.array(labels).dictionary_encode(), "n": range(len(texts))})


def _write_parquet(file: Path) -> None:
    from pyarrow import parquet

    parquet.write_table(_columns(), file)


def _write_arrow(file: Path) -> None:
    from pyarrow import ipc

    is_stream = file.name.startswith("stream")
    table = _columns()
    with (ipc.new_stream if is_stream else ipc.new_file)(str(file), table.schema) as writer:
        writer.write_table(table)


def _write_label_sets(folder: Path) -> None:
    rows = ({"text": f"{text} {label}", "label": [label, "both"][: n % 3]} for n, (text, label) in enumerate(_ROWS))
    (folder / "sets.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def _write_questions(folder: Path) -> None:
    context = "A cow went by, and nobody saw her go."
    questions = [
        {"id": f"q{number}", "question": "Who went by?", "answers": [{"text": "A cow", "answer_start": 0}]}
        for number in range(8)
    ]
    article = {"title": "Cows", "paragraphs": [{"context": context, "qas": questions}]}
    (folder / "squad.json").write_text(json.dumps({"version": "1.1", "data": [article]}))


def _write_settings(folder: Path) -> None:
    (folder / "job.toml").write_text(_SETTINGS)


FORMATS: dict[str, Format] = {
    "text": _text("documents.txt", bytes),
    "text.gz": _text("documents.txt.gz", lambda content: gzip.compress(content, mtime=0)),
    "text.bz2": _text("documents.txt.bz2", bz2.compress),
    "text.zst": _text("documents.txt.zst", _pack_zstd),
    "jsonl": _table("rows.jsonl", lambda file: file.write_bytes(_json_lines())),
    "jsonl.gz": _table("rows.jsonl.gz", lambda file: file.write_bytes(gzip.compress(_json_lines(), mtime=0))),
    "csv": _table("rows.csv", lambda file: file.write_bytes(_cells(",", '"'))),
    "tsv": _table("rows.tsv", lambda file: file.write_bytes(_cells("\t", ""))),
    "parquet": _table("rows.parquet", _write_parquet),
    "arrow stream": _table("stream.arrow", _write_arrow),
    "arrow file": _table("file.arrow", _write_arrow),
    "conll": Format(
        "words.conll",
        lambda folder: (folder / "words.conll").write_text(_TAGGED),
        lambda folder: SentenceSource(str(folder / "words.conll")).check(),
        (InputError,),
    ),
    "label sets": Format(
        "sets.jsonl",
        _write_label_sets,
        lambda folder: LabelSetSource(str(folder / "sets.jsonl")).check(),
        (InputError,),
    ),
    "squad": Format(
        "squad.json",
        _write_questions,
        lambda folder: QuestionSource(str(folder / "squad.json")).check(),
        (InputError,),
    ),
    "job.toml": Format(
        "job.toml",
        _write_settings,
        lambda folder: load_settings(folder / "job.toml"),
        (InputError,),
        mentions="",
    ),
}
