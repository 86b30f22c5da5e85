"""The tokenizers in Swift, compiled, against the library's."""

import subprocess
from pathlib import Path

import pytest

import keras_bert.clients.characters
from keras_bert.tokenizers.wordpiece_vocabulary import SPECIAL_TOKENS
from tests.clients.fuzz import MPNET, check_program
from tests.clients.subword_fuzz import FAMILIES, check_subwords

pytestmark = pytest.mark.swift

HERE, SOURCES = Path(__file__).parent, Path(keras_bert.clients.characters.__file__).parent


def compile_swift(binary, *sources):
    subprocess.run(["swiftc", "-O", "-warnings-as-errors", *map(str, sources), "-o", str(binary)], check=True)
    return [str(binary)]


@pytest.fixture(scope="module")
def cut(tmp_path_factory):
    return compile_swift(tmp_path_factory.mktemp("swift") / "cut", SOURCES / "WordPiece.swift", HERE / "main.swift")


@pytest.fixture(scope="module")
def split(tmp_path_factory):
    main = HERE / "subwords" / "main.swift"
    return compile_swift(tmp_path_factory.mktemp("swift") / "split", SOURCES / "Subwords.swift", main)


@pytest.mark.parametrize(("lowercase", "special"), [(True, SPECIAL_TOKENS), (False, SPECIAL_TOKENS), (False, MPNET)])
def test_strings_are_cut_as_here(lowercase, special, cut, tmp_path):
    check_program(cut, lowercase, tmp_path, special)


@pytest.mark.parametrize("family", FAMILIES)
def test_texts_are_split_as_here(family, split, tmp_path):
    check_subwords(split, family, tmp_path)
