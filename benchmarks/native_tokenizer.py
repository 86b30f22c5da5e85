"""Measures the tokenizers in C++ (`plugins/native`) beside Hugging Face's `tokenizers`, on one thread.

    python -m benchmarks.native_tokenizer --data ../shared/data

The folder holds `vocab/bert-base-uncased-vocab.txt` and `corpus/wikipedia_squad_train.txt`. BPE and unigram are learnt
from the first part of the texts. Both tokenize the texts line by line, with offsets, in turns; times are those of the
processor, the medians of the rounds. Needs g++.
"""

import argparse
import json
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table
from tokenizers import Tokenizer

import plugins.native.target
import tests.plugins.native.build
from benchmarks.harness.texts import take
from keras_bert.clients.characters import character_table
from keras_bert.clients.subword_rules import subword_rules
from keras_bert.interop.tokenizer_json import write_tokenizer
from keras_bert.options.data import NAMED_TOKENS
from keras_bert.tokenizers.eager import EagerSubwords
from keras_bert.tokenizers.learning import learn_subwords
from pipeline.views.terminal import cells


class RacedTokenizer(NamedTuple):
    """A tokenizer: its tokens, its table for apps, and the same of the library `tokenizers`."""

    tokens: list[str]
    rules: str
    reference: Tokenizer


def main() -> None:
    """Prints a table of speeds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--megabytes", type=float, default=10.0, help="of the texts")
    parser.add_argument("--learnt-megabytes", type=float, default=3.0, help="of the texts, to learn vocabularies from")
    parser.add_argument("--size", type=int, default=20_000, help="of the learnt vocabularies")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    texts = (options.data / "corpus" / "wikipedia_squad_train.txt").read_text(encoding="utf-8").split("\n")
    sample = list(take(texts, options.megabytes))
    table = Table("tokenizer", "tokens", "opened in ms", "C++ MB/s", "tokenizers MB/s", "C++ / tokenizers")
    with tempfile.TemporaryDirectory() as folder:
        program = compile_lines(Path(folder))
        for name, contestant in make_tokenizers(options, texts).items():
            table.add_row(*cells(name, *race(program, Path(folder), contestant, sample, options.rounds)))
    Console(width=120).print(table)


def compile_lines(folder: Path) -> Path:
    """The program that tokenizes the lines of a file."""
    program = folder / "lines"
    source = Path(tests.plugins.native.build.__file__).parent / "lines.cpp"
    headers = Path(plugins.native.target.__file__).parent
    subprocess.run(["g++", "-std=c++17", "-O2", f"-I{headers}", str(source), "-o", str(program)], check=True)
    return program


def make_tokenizers(options: argparse.Namespace, texts: list[str]) -> dict[str, RacedTokenizer]:
    """The tokenizers by their names."""
    file = options.data / "vocab" / "bert-base-uncased-vocab.txt"
    pieces = file.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    definition = write_tokenizer(pieces, lowercase=True)
    reference = Tokenizer.from_str(json.dumps(definition))
    made = {"wordpiece": RacedTokenizer(pieces, character_table(True), reference)}
    for kind in ("bpe", "unigram"):
        learnt = learn_subwords(take(texts, options.learnt_megabytes), kind, options.size, lowercase=False)
        tokenizer = EagerSubwords(learnt.definition())
        content = {name: part for name, part in learnt.definition().items() if name != NAMED_TOKENS}
        reference = Tokenizer.from_str(json.dumps(content))
        made[kind] = RacedTokenizer(list(tokenizer.vocabulary), subword_rules(tokenizer), reference)
    return made


def race(program: Path, folder: Path, contestant: RacedTokenizer, lines: list[str], rounds: int) -> tuple[str, ...]:
    """Tokens, milliseconds to open the tables, megabytes a second of both, and their quotient."""
    rules = contestant.rules.removesuffix("\n")
    files = {"vocab.txt": contestant.tokens, "rules.txt": [rules], "texts.txt": lines}
    for name, content in files.items():
        (folder / name).write_text("".join(f"{line}\n" for line in content), encoding="utf-8", newline="")
    megabytes = (folder / "texts.txt").stat().st_size / 1e6
    command = [str(program), *(str(folder / name) for name in files), "1"]
    opened, native, others = list[float](), list[float](), list[float]()
    for _ in range(rounds):
        printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        opened.append(1000 * float(printed[0]))
        native.append(megabytes / float(printed[1]))
        start, tokens = time.process_time(), 0
        for line in lines:
            tokens += len(contestant.reference.encode(line, add_special_tokens=False).ids)
        others.append(megabytes / (time.process_time() - start))
        if tokens != int(printed[2]):
            raise ValueError(f"both must make as many tokens, got {printed[2]} and {tokens}")
    speeds = [statistics.median(native), statistics.median(others)]
    numbers = [*(f"{speed:.1f}" for speed in speeds), f"{speeds[0] / speeds[1]:.1f}"]
    return (f"{tokens:,}", f"{statistics.median(opened):.0f}", *numbers)


if __name__ == "__main__":
    main()
