"""The tokenizer of subwords in Kotlin, compiled, against the library's."""

from pathlib import Path

import pytest

import keras_bert.clients.subword_rules
from tests.clients.kotlin.compiler import compile_kotlin, program
from tests.clients.subword_fuzz import FAMILIES, check_subwords

pytestmark = pytest.mark.kotlin

SOURCES = (
    Path(keras_bert.clients.subword_rules.__file__).with_name("Subwords.kt"),
    Path(__file__).with_name("Split.kt"),
)


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return program("SplitKt", compile_kotlin(SOURCES, tmp_path_factory.mktemp("split")))


@pytest.mark.parametrize("family", FAMILIES)
def test_texts_are_split_as_here(family: str, command: list[str], tmp_path: Path) -> None:
    check_subwords(command, family, tmp_path)
