"""The tokenizer in Kotlin, compiled, against the library's."""

from pathlib import Path

import pytest

import keras_bert.clients.characters
from tests.clients.fuzz import check_program
from tests.clients.kotlin.compiler import compile_kotlin, program

pytestmark = pytest.mark.kotlin

SOURCES = (Path(keras_bert.clients.characters.__file__).with_name("WordPiece.kt"), Path(__file__).with_name("Cut.kt"))


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return program("CutKt", compile_kotlin(SOURCES, tmp_path_factory.mktemp("cut")))


@pytest.mark.parametrize("lowercase", [True, False])
def test_strings_are_cut_as_here(lowercase: bool, command: list[str], tmp_path: Path) -> None:
    check_program(command, lowercase, tmp_path)
