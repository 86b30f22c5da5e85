"""Tokenizers in C++ on 100,000 lines: ids and offsets are those of the library."""

import itertools
import os
import subprocess
import unicodedata
from pathlib import Path

import numpy as np
import pytest

from keras_bert.clients.characters import character_table
from keras_bert.clients.subword_rules import subword_rules
from keras_bert.tokenizers.eager import EagerSubwords, EagerWordPiece
from keras_bert.tokenizers.learning import learn_subwords
from tests.clients.fuzz import PIECES, make_strings
from tests.clients.subword_fuzz import make_texts
from tests.plugins.native.build import compile_program

pytestmark = pytest.mark.native

COUNT = 100_000
KINDS = ("wordpiece", "bpe", "unigram")
SIZES = {"bpe": 300, "unigram": 100}
DATA = Path(os.environ.get("BERT_TEST_DATA", "../shared/data")).absolute()
MANY_SCRIPTS = DATA / "tokenizer" / "multilingual_edge_text.txt"


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return compile_program(tmp_path_factory.mktemp("lines"), "lines.cpp")


@pytest.fixture(scope="module")
def random_lines():
    texts = [text for seed in range(5) for text in (*make_strings(seed), *make_texts(seed))]
    assert len(texts) == COUNT
    return [text.translate({0xA: " ", 0xD: " "}) for text in texts]


@pytest.mark.parametrize("kind", KINDS)
def test_random_lines(kind, program, random_lines, tmp_path):
    if kind == "wordpiece":
        tokenizer, rules = EagerWordPiece(PIECES, lowercase=True), character_table(True)
    else:
        # A vocabulary cannot hold all characters.
        tokenizer = learn([line for line in random_lines if line.isascii()], kind, SIZES[kind])
        rules = subword_rules(tokenizer)
    check_lines(program, tmp_path, tokenizer, rules, random_lines)


@pytest.mark.slow
@pytest.mark.skipif(not MANY_SCRIPTS.is_file(), reason="needs BERT_TEST_DATA, a folder with vocab/ and tokenizer/")
@pytest.mark.parametrize("kind", KINDS)
def test_lines_of_many_scripts(kind, program, tmp_path):
    content = MANY_SCRIPTS.read_bytes().decode(errors="replace")
    lines = content.removesuffix("\n").split("\n")
    assert len(lines) == COUNT
    if kind != "wordpiece":
        tokenizer = learn(lines, kind, 8000)
        check_lines(program, tmp_path, tokenizer, subword_rules(tokenizer), lines)
        return
    for name in ("bert-base-uncased", "bert-base-cased", "bert-base-multilingual-cased", "bert-base-chinese"):
        pieces = (DATA / "vocab" / f"{name}-vocab.txt").read_text(encoding="utf-8").removesuffix("\n").split("\n")
        lowercase = not name.endswith("-cased")
        check_lines(program, tmp_path, EagerWordPiece(pieces, lowercase), character_table(lowercase), lines)


def learn(lines, kind, size):
    return EagerSubwords(learn_subwords(lines[::20], kind, size, lowercase=False).definition())


def moves_marks(line):
    """Whether the marks of a text are not in Unicode's order, to which WordPiece's normalization moves them.

    The offsets of the library follow the marks, and those of the table `characters.txt` do not.
    """
    kept = (character for character in line if not unicodedata.category(character).startswith("C"))
    codes = itertools.chain.from_iterable(unicodedata.normalize("NFD", character) for character in kept)
    return any(first > second > 0 for first, second in itertools.pairwise(map(unicodedata.combining, codes)))


def check_lines(program, folder, tokenizer, rules, lines):
    """Compares the ids, the starts and the ends of the tokens of each line."""
    contents = ["".join(f"{piece}\n" for piece in tokenizer.vocabulary), rules, "".join(f"{line}\n" for line in lines)]
    files = [folder / name for name in ("vocab.txt", "rules.txt", "texts.txt")]
    for file, content in zip(files, contents, strict=True):
        file.write_text(content, encoding="utf-8", newline="")
    printed = subprocess.run([str(program), *map(str, files)], stdout=subprocess.PIPE, check=True).stdout
    numbers = np.frombuffer(printed, "int32")
    columns = tokenizer.tokenize_with_offsets(lines)
    splits = np.asarray(columns[0].row_splits)
    expected = np.stack([np.asarray(column.flat_values) for column in columns])
    place, different = 0, []
    for line, (first, last) in zip(lines, itertools.pairwise(splits), strict=True):
        count = numbers[place]
        tokens = numbers[place + 1 : place + 1 + 3 * count].reshape(3, count)
        place += 1 + 3 * count
        compared = 1 if rules.startswith("dropped") and moves_marks(line) else 3
        if not np.array_equal(tokens[:compared], expected[:compared, first:last]):
            different.append(line)
    assert (different, place) == ([], len(numbers))
