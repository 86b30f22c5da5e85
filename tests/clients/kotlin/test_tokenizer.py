"""The tokenizer in Kotlin, compiled, against the library's."""

import subprocess
from pathlib import Path

import pytest

import keras_bert.clients.characters
from tests.clients.fuzz import check_program

pytestmark = pytest.mark.kotlin

SOURCES = (Path(keras_bert.clients.characters.__file__).with_name("WordPiece.kt"), Path(__file__).with_name("Cut.kt"))


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("kotlin") / "cut.jar"
    subprocess.run(["kotlinc", *map(str, SOURCES), "-include-runtime", "-d", str(made)], check=True)
    return made


@pytest.mark.parametrize("lowercase", [True, False])
def test_strings_are_cut_as_here(lowercase: bool, program: Path, tmp_path: Path) -> None:
    check_program(["java", "-jar", str(program)], lowercase, tmp_path)
