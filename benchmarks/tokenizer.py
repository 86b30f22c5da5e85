"""Compares our tokenizer with tensorflow-text's FastBertTokenizer, and its ids with Hugging Face `tokenizers`.

    python -m benchmarks.tokenizer --data ../shared/data
    python -m benchmarks.tokenizer --data ../shared/data --reference-python PATH

The folder holds `vocab/*.txt`, `corpus/*.txt` and `tokenizer/*.txt`. Speeds are medians over alternating rounds, on one
thread and the first lines of each text file. PATH is an interpreter with `tokenizers`; with it, all lines of all
files are compared.
"""

import argparse
import statistics
from collections.abc import Callable
from functools import partial
from pathlib import Path
from timeit import timeit
from typing import Any

import tensorflow as tf
import tensorflow_text as tf_text
from rich.console import Console
from rich.table import Table

from benchmarks.harness.contestants import turns
from benchmarks.harness.texts import load_vocabulary, take
from keras_bert.tokenizers.tokenizer import Tokenizer
from keras_bert.tokenizers.wordpiece_vocabulary import UNKNOWN
from pipeline.views.terminal import cells
from tests.golden.tokenizer import Differences, ask_reference, compare

BATCH = 1000


def main() -> None:
    """Prints the speeds, and with a reference the differences."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--megabytes", type=float, default=1.0, help="of each text file, to measure the speed")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--reference-python")
    options = parser.parse_args()
    files = sorted([*options.data.glob("tokenizer/*.txt"), *options.data.glob("corpus/*.txt")])
    lines = {file.name: file.read_bytes().decode(errors="replace").split("\n") for file in files}
    sample = [line for part in lines.values() for line in take(part, options.megabytes)]
    speeds = Table("MB/s", "FastBertTokenizer", "ours", "ours / FastBertTokenizer", "Hugging Face tokenizers")
    report = Table("vocabulary", "text", "lines", "pieces", "lines with other ids", "lines with other offsets")
    for file in sorted(options.data.glob("vocab/*.txt")):
        tokenizer = load_vocabulary(file)
        fast, ours = measure(tokenizer, sample, options.rounds)
        speed = "-"
        if options.reference_python:
            seconds = ask_reference(
                options.reference_python, tokenizer.vocabulary, tokenizer.lowercase is True, sample
            ).seconds
            speed = f"{megabytes(sample) / seconds:.1f}"
            for name, part in lines.items():
                report.add_row(*cells(file.stem, name, *map(str, check(tokenizer, options.reference_python, part))))
        speeds.add_row(*cells(file.stem, f"{fast:.1f}", f"{ours:.1f}", f"{ours / fast:.2f}", speed))
    console = Console(width=140)
    console.print(speeds)
    if options.reference_python:
        console.print(report)


def megabytes(lines: list[str]) -> float:
    """The size of lines as UTF-8."""
    return sum(len(line.encode()) for line in lines) / 1e6


def measure(tokenizer: Tokenizer, lines: list[str], rounds: int) -> tuple[float, float]:
    """MB/s of FastBertTokenizer and of ours, both as graphs; they take turns, so that a busy machine hits both."""
    fast = tf_text.FastBertTokenizer(
        vocab=list(tokenizer.vocabulary),
        token_out_type=tf.int32,
        unknown_token=UNKNOWN,
        lower_case_nfd_strip_accents=tokenizer.lowercase,
    )
    batches = [tf.constant(lines[first : first + BATCH]) for first in range(0, len(lines), BATCH)]

    def timer(tokenize: Callable[..., Any]) -> Callable[[], float]:
        graph = tf.function(tokenize, input_signature=[tf.TensorSpec([None], tf.string)])
        return lambda: timeit(lambda: [graph(batch) for batch in batches], number=1)

    seconds = turns({"fast": timer(fast.tokenize), "ours": timer(tokenizer.tokenize)}, rounds)
    size = megabytes(lines)
    return size / statistics.median(seconds["fast"]), size / statistics.median(seconds["ours"])


def check(tokenizer: Tokenizer, python: str, lines: list[str]) -> Differences:
    """Compares all lines, a part at a time."""
    parts = [lines[first : first + 20 * BATCH] for first in range(0, len(lines), 20 * BATCH)]
    ask = partial(ask_reference, python, tokenizer.vocabulary, tokenizer.lowercase is True)
    return Differences(*map(sum, zip(*(compare(tokenizer, ask(part), part) for part in parts), strict=True)))


if __name__ == "__main__":
    main()
