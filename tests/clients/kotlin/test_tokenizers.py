"""The tokenizers in Kotlin, compiled, against the library's."""

from pathlib import Path

import pytest

import keras_bert.clients.characters
from keras_bert.tokenizers.wordpiece_vocabulary import SPECIAL_TOKENS
from tests.clients.fuzz import MPNET, check_program
from tests.clients.kotlin.compiler import compile_kotlin, program
from tests.clients.subword_fuzz import FAMILIES, check_subwords

pytestmark = pytest.mark.kotlin

HERE, SOURCES = Path(__file__).parent, Path(keras_bert.clients.characters.__file__).parent


@pytest.fixture(scope="module")
def cut(tmp_path_factory):
    sources = [SOURCES / "WordPiece.kt", HERE / "Cut.kt"]
    return program("CutKt", compile_kotlin(sources, tmp_path_factory.mktemp("cut")))


@pytest.fixture(scope="module")
def split(tmp_path_factory):
    sources = [SOURCES / "Subwords.kt", HERE / "Split.kt"]
    return program("SplitKt", compile_kotlin(sources, tmp_path_factory.mktemp("split")))


@pytest.mark.parametrize(("lowercase", "special"), [(True, SPECIAL_TOKENS), (False, SPECIAL_TOKENS), (False, MPNET)])
def test_strings_are_cut_as_here(lowercase, special, cut, tmp_path):
    check_program(cut, lowercase, tmp_path, special)


@pytest.mark.parametrize("family", FAMILIES)
def test_texts_are_split_as_here(family, split, tmp_path):
    check_subwords(split, family, tmp_path)
