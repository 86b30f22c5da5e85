"""Rows that a benchmark's jobs read and that no job can say: parts of public data sets, also with other labels.

    python -m benchmarks.make_rows KIND [--data FOLDER] [--out FOLDER] ...

`--data` holds the folders corpus, sst2 (GLUE), banking77, wnut17 and squad, by default ../shared/data; rows go to
benchmarks/rows/KIND, where the jobs look for them. Kinds:

- `first`: the first `--rows` rows of SST-2.
- `spread`: `--rows` of its training rows at even distances, and as many between them, at most 500, for validation.
- `few`: `--rows` random rows of each label of SST-2 and of Banking77, `--draws` times; held_out.csv has 1,000 other
  rows for the choice of settings.
- `planted`: `--rows` rows of either, a `--share` of which gets another random label, marked in the column `planted`.
- `types`: sentences of WNUT-17; the labels are the types of the entities that its tags mark.
- `pairs`: the first `--rows` questions of SQuAD with their paragraphs, a tenth for validation; to test, the first
  question of each of the first 2,000 paragraphs of the dev file. No paragraph stands in both files. texts.txt has the
  texts of the job space.toml, for its peer.
- `documents`: texts of `--words` words of the filler, whatever the label is, and behind them `--deciding` words of the
  label's kind: as a word is a token at least, whoever reads 512 tokens can but guess. Files have a blank line behind
  each document; a quarter of the documents makes test rows, and texts.txt has the others.
"""

import argparse
import itertools
import json
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from components.examples.registry import TASK_ROWS
from components.examples.splits import split_rows
from components.files.csv_files import csv_line
from components.sources.questions import read_squad
from components.sources.retrieval import QueryRow
from components.sources.table import TableSource, TextRow
from components.sources.tagged_words import SentenceSource
from components.sources.text import TextSource, read_lines
from plugins.vectors.steps import spread_sentences

# Name -> training rows, and the columns of text and label.
TABLES = {"sst2": ("train.tsv", "sentence", "label"), "banking77": ("train.csv", "text", "category")}


def main() -> None:
    """Writes the rows of a kind."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "rows")
    parser.add_argument("--rows", type=int, help="by default as many as the figures of docs/ had")
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--share", type=float, default=0.05, help="of rows with a planted label")
    parser.add_argument("--documents", action="append", default=[], metavar="LABEL=FILE")
    parser.add_argument("--filler", type=Path)
    parser.add_argument("--words", type=int, default=520, help="of the filler, at least 512")
    parser.add_argument("--deciding", type=int, default=300, help="words")
    options = parser.parse_args()
    if options.kind == "documents" and not (options.documents and options.filler):
        parser.error("documents must have --documents LABEL=FILE and --filler FILE")
    make, rows = KINDS[options.kind]
    options.rows = options.rows or rows
    for name, content in make(options):
        file = options.out / options.kind / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(content), encoding="utf-8")
        print(f"written: {file}")


Files = Iterator[tuple[str, Iterable[str]]]


def first(options: argparse.Namespace) -> Files:
    """The lines of a table up to some row."""
    lines = (options.data / "sst2/train.tsv").read_text(encoding="utf-8").splitlines(keepends=True)
    yield "train.tsv", lines[: options.rows + 1]


def spread(options: argparse.Namespace) -> Files:
    """Training and validation rows that take turns."""
    heading, *lines = (options.data / "sst2/train.tsv").read_text(encoding="utf-8").splitlines(keepends=True)
    step = len(lines) // (2 * options.rows)
    yield "train.tsv", [heading, *lines[:: 2 * step][: options.rows]]
    yield "validation.tsv", [heading, *lines[step :: 2 * step][: min(options.rows, 500)]]


def few(options: argparse.Namespace) -> Files:
    """The rows of each draw; equal rows count once."""
    for name, (file, text, label) in TABLES.items():
        table = TableSource(name, text=text, label=label).read(str(options.data / name / file))
        distinct = list(dict.fromkeys(row._replace(text=" ".join(row.text.split())) for row in table))
        for seed in range(options.draws):
            by_label: dict[str, list[TextRow]] = defaultdict(list)
            shuffled = distinct.copy()
            random.Random(seed).shuffle(shuffled)
            for row in shuffled:
                by_label[row.label].append(row)
            drawn = [row for _, rows in sorted(by_label.items()) for row in rows[: options.rows]]
            chosen = set(drawn)
            held_out = [row for row in shuffled if row not in chosen][:1000]
            for split, rows in (("train", drawn), ("held_out", held_out)):
                yield f"{name}-{seed}/{split}.csv", map(csv_line, [(text, label), *(row[:2] for row in rows)])


def planted(options: argparse.Namespace) -> Files:
    """Rows with distinct texts, and whether the label of each was changed."""
    for name, (file, text, label) in TABLES.items():
        chance, table = (
            random.Random(0),
            TableSource(name, text=text, label=label).read(str(options.data / name / file)),
        )
        distinct = list({row.text.strip().casefold(): row for row in table}.values())
        rows = chance.sample(distinct, options.rows)
        labels = sorted({row.label for row in rows})
        chosen = set(chance.sample(range(len(rows)), round(options.share * len(rows))))
        lines = [(text, label, "planted")]
        for number, row in enumerate(rows):
            others = [other for other in labels if other != row.label]
            is_planted = number in chosen
            lines.append((row.text, chance.choice(others) if is_planted else row.label, "yes" if is_planted else "no"))
        yield f"{name}.csv", map(csv_line, lines)


def types(options: argparse.Namespace) -> Files:
    """Sentences with the types of their entities."""
    names = {"train": "wnut17train.conll", "validation": "emerging.dev.conll", "test": "emerging.test.annotated"}
    files: dict[str, Any] = {split: str(options.data / "wnut17" / name) for split, name in names.items()}
    source = SentenceSource(**files)
    for split, sentences in source.splits().items():
        rows = (
            {"text": " ".join(sentence.words), "labels": sorted({tag[2:] for tag in sentence.tags if tag != "O"})}
            for sentence in sentences
        )
        yield f"{split}.jsonl", json_lines(rows)


def pairs(options: argparse.Namespace) -> Files:
    """Questions with the paragraphs that answer them, in the splits that a job would make of them."""

    def read(name: str) -> Iterator[QueryRow]:
        for record in read_squad(str(options.data / "squad" / name)):
            yield QueryRow(record.question.strip(), (record.context.strip(),))

    firsts = dict[tuple[str, ...], QueryRow]()
    for row in read("dev-v1.1.json"):
        firsts.setdefault(row.passages, row)
    rows = list(itertools.islice(read("train-v1.1-part.json"), options.rows))
    splits = split_rows(rows, ["validation"], key=TASK_ROWS["retrieval"].key)
    paragraphs = list(read_lines(TextSource(str(options.data / "corpus/wikipedia_squad_train.txt"))))
    passages: list[Any] = [(number, text, "passage") for number, text in enumerate(paragraphs)]
    sentences = [text for _, text, _ in spread_sentences(passages, 2)]
    yield "texts.txt", (f"{text}\n" for text in [*paragraphs, *(row.query for row in splits["train"]), *sentences])
    for split, held in {**splits, "test": list(firsts.values())[:2000]}.items():
        yield f"{split}.jsonl", json_lines({"query": row.query, "passage": row.passages[0]} for row in held)


def json_lines(rows: Iterable[dict[str, Any]]) -> Iterator[str]:
    """A line for each row."""
    return (f"{json.dumps(row)}\n" for row in rows)


def documents(options: argparse.Namespace) -> Files:
    """Rows of long documents, drawn again for each training, and the documents that training rows are made of."""
    files = {name: Path(file) for name, _, file in (kind.partition("=") for kind in options.documents)}
    parts: tuple[dict[str, list[list[str]]], ...] = ({}, {})
    for kind, file in {**files, "": options.filler}.items():
        texts = [text.split() for text in file.read_text(encoding="utf-8").split("\n\n")]
        random.Random(0).shuffle(texts)
        cut = len(texts) // 4
        parts[0][kind], parts[1][kind] = texts[cut:], texts[:cut]
    train, test = parts
    yield "texts.txt", (" ".join(words) + "\n\n" for of_kind in train.values() for words in of_kind)
    for seed in range(options.draws):
        for split, held, number in (("train", train, seed), ("test", test, 1000)):
            chance = random.Random(number)
            labels = [sorted(files)[row % len(files)] for row in range(options.rows)]
            texts = [
                " ".join(some(held[""], options.words, chance) + some(held[label], options.deciding, chance))
                for label in labels
            ]
            yield f"{seed}/{split}.csv", map(csv_line, [("text", "label"), *zip(texts, labels, strict=True)])


def some(texts: Sequence[list[str]], words: int, chance: random.Random) -> list[str]:
    """Returns `words` words of randomly drawn documents."""
    drawn: list[str] = []
    while len(drawn) < words:
        document = chance.choice(texts)
        start = chance.randrange(max(1, len(document) - words))
        drawn += document[start : start + words]
    return drawn[:words]


# Name -> what makes its files, and the number of rows.
KINDS: dict[str, tuple[Callable[[argparse.Namespace], Files], int]] = {
    "first": (first, 2000),
    "spread": (spread, 400),
    "few": (few, 8),
    "planted": (planted, 3000),
    "types": (types, 0),
    "pairs": (pairs, 4000),
    "documents": (documents, 160),
}

if __name__ == "__main__":
    main()
