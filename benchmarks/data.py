"""Time and memory from text to masked records, against create_pretraining_data.py of google-research/bert.

    python -m benchmarks.data --peer CHECKOUT --text novels.txt --vocabulary bert-base-uncased-vocab.txt
    python -m benchmarks.data --text novels.txt --vocabulary bert-base-uncased-vocab.txt --scale 20 60 200

Rows of 128 tokens with 20 predictions, no duplication. The peer gets the documents of our corpus, one
sentence a line, as it can neither clean nor split text. This project starts from the raw text, which it cleans,
deduplicates and splits. "Masking alone" starts from the split corpus and does the same work as the peer.

Each contestant has a process of its own and imports are not counted; medians over alternating rounds. Memory is the
peak of the contestant and its workers, libraries included; the memory of the imports has a column of its own. `fixed s`
is the part of the time that this project also takes for a text of six sentences: Beam, and the start of workers with
their imports. `cpu s` is processor time of all threads and of workers that have ended, which hardly depends on other
load of the machine.

`--scale` repeats the text up to the given size in MB. In every copy but the first, a seeded permutation reorders the
words inside each sentence (the first and last word stay), so that no copies are near duplicates. `fixed s` is then
that of one process: larger sizes run in several, whose start is part of the other times.
"""

import argparse
import itertools
import random
import re
import statistics
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.harness.contestants import turns
from benchmarks.harness.processes import Watched, watch
from benchmarks.harness.texts import take
from benchmarks.peers.google_bert import create, write_text
from components.artifacts.standard import Corpus
from components.corpus.shards import read_shard
from components.ingest_corpus import ingest_corpus
from components.sources.text import TextSource
from keras_bert.data.records import count_records

_SENTENCE_END = re.compile("(?<=[.!?]) ")


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peer", type=Path, help="a checkout of google-research/bert")
    parser.add_argument("--text", type=Path, required=True, help="documents are parted by blank lines")
    parser.add_argument("--vocabulary", type=Path, required=True, help="vocab.txt; lower case unless named -cased")
    parser.add_argument("--megabytes", type=float, default=3.0, help="of the text, for the peer")
    parser.add_argument("--workers", type=int, default=2, help="processes of ours, beside as many as it takes itself")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--scale", type=int, nargs="+", default=[], help="MB of text; prints this table only")
    options = parser.parse_args()
    console = Console(width=140)
    with tempfile.TemporaryDirectory() as folder:
        if options.scale:
            console.print(scale(options, Path(folder)))
        else:
            console.print(compare(options, Path(folder)))


def compare(options: argparse.Namespace, folder: Path) -> Table:
    """The table of contestants; the peer comes first, if there is one."""
    part = folder / "part.txt"
    with options.text.open() as lines:
        part.write_text("".join(take(lines, options.megabytes)))
    contestants: dict[str, tuple[Path, Callable[[], Watched]]] = {}
    if options.peer:
        sentences = folder / "sentences.txt"
        write_text(documents_of(part, folder), sentences)
        output = folder / "peer.tfrecord"
        # The size of the raw text, as for ours: the peer's sentences are what is left of it.
        contestants["peer"] = part, partial(create, options.peer, sentences, options.vocabulary, output)
    for text, workers in [(part, None), (options.text, None), (options.text, options.workers)]:
        name = "ours, default" if workers is None else f"ours, {workers} workers"
        contestants[f"{name}, {megabytes(text):.0f} MB"] = text, partial(ours, text, options.vocabulary, workers)
    runs_of = turns({name: run for name, (_, run) in contestants.items()}, options.rounds, warm_up=0)
    columns = ("contestant", "MB", "rows", "s", "cpu s", "fixed s", "MB/s", "x peer", "mask s", "MB/s", "x peer")
    table = Table(*columns, "peak MB", "imports MB", title="text to records, and masking alone")
    peer = 0.0
    for name, (text, _) in contestants.items():
        size, runs = megabytes(text), runs_of[name]
        memory = [f"{statistics.median(run.peak for run in runs):.0f}", f"{median(runs, 'idle'):.0f}"]
        if name == "peer":
            seconds = median(runs, "seconds")
            peer = size / seconds
            rows = count_records([str(folder / "peer.tfrecord")])
            times = f"{seconds:.1f}", f"{median(runs, 'cpu'):.1f}", "-", f"{peer:.2f}"
            table.add_row(name, f"{size:.1f}", f"{rows:,}", *times, *"1---", *memory)
            continue
        whole, alone = median(runs, "ingest", "mask"), median(runs, "mask")
        cells = [f"{size:.1f}", f"{runs[0].answer['rows']:,}"]
        cells += [f"{whole:.2f}", f"{median(runs, 'cpu'):.2f}", f"{median(runs, 'ingest start', 'mask start'):.2f}"]
        cells += [*compared(size / whole, peer), f"{alone:.2f}", *compared(size / alone, peer)]
        table.add_row(name, *cells, *memory)
    return table


def scale(options: argparse.Namespace, folder: Path) -> Table:
    """Time and memory of ours by the size of the text, with the number of processes that it takes itself."""
    table = Table("MB of text", "rows", "ingest s", "mask s", "fixed s", "MB/s", "peak MB", "imports MB")
    for size in options.scale:
        text = folder / f"{size}.txt"
        with text.open("w") as file:
            file.writelines(repeat(options.text, size))
        run = ours(text, options.vocabulary, None)
        answer = run.answer
        seconds = [answer["ingest"], answer["mask"], answer["ingest start"] + answer["mask start"]]
        speed = megabytes(text) / (seconds[0] + seconds[1])
        cells = [f"{answer['rows']:,}", *(f"{value:.1f}" for value in seconds), f"{speed:.2f}"]
        table.add_row(f"{megabytes(text):.0f}", *cells, f"{run.peak:.0f}", f"{answer['idle']:.0f}")
        text.unlink()
    return table


def ours(text: Path, vocabulary: Path, workers: int | None) -> Watched:
    """Our two steps in a process of their own."""
    with tempfile.TemporaryDirectory() as folder:
        arguments = ["--text", str(text.absolute()), "--vocabulary", str(vocabulary), "--folder", folder]
        if workers is not None:
            arguments += ["--workers", str(workers)]
        return watch("benchmarks.harness.masked_records", arguments)


def compared(speed: float, peer: float) -> list[str]:
    """MB/s, and how many times that of the peer."""
    return [f"{speed:.2f}", f"{speed / peer:.1f}" if peer else "-"]


def median(runs: list[Watched], *keys: str) -> float:
    """Of the sums of some figures of each run."""
    return float(statistics.median(sum(run.answer[key] for key in keys) for run in runs))


def documents_of(text: Path, folder: Path) -> list[str]:
    """The documents of the corpus that ours makes of a text."""
    corpus = Corpus(folder / "corpus")
    ingest_corpus.run(corpus=corpus, source=TextSource(str(text)))
    shards = sorted(corpus.path.glob("corpus-*.jsonl.gz"))
    return [text for shard in shards for _, text in read_shard(shard.read_bytes())]


def megabytes(file: Path) -> float:
    """The size of a file."""
    return file.stat().st_size / 1e6


def repeat(text: Path, most: float) -> Iterator[str]:
    """Lines of about so many megabytes; see above for what copies are."""
    taken = 0.0
    for copy in itertools.count():
        rng = random.Random(copy)
        with text.open() as lines:
            for line in itertools.chain(take(lines, most - taken), ["\n"]):
                changed = shuffle_words(line, rng) if copy else line
                taken += len(changed.encode()) / 1e6
                yield changed
        if taken >= most - 0.01:
            return


def shuffle_words(line: str, rng: random.Random) -> str:
    """The words of each sentence but its first and last in another order."""
    sentences = []
    for sentence in _SENTENCE_END.split(line.rstrip("\n")):
        words: list[Any] = sentence.split(" ")
        inner = words[1:-1]
        rng.shuffle(inner)
        sentences.append(" ".join([*words[:1], *inner, *words[1:][-1:]]))
    return " ".join(sentences) + "\n"


if __name__ == "__main__":
    main()
