"""The tokenizer in Swift, compiled, against the library's."""

import subprocess
from pathlib import Path

import pytest

import keras_bert.clients.characters
from tests.clients.fuzz import check_program

pytestmark = pytest.mark.swift

SOURCES = (
    Path(keras_bert.clients.characters.__file__).with_name("WordPiece.swift"),
    Path(__file__).with_name("main.swift"),
)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("swift") / "cut"
    subprocess.run(["swiftc", "-O", "-warnings-as-errors", *map(str, SOURCES), "-o", str(made)], check=True)
    return made


@pytest.mark.parametrize("lowercase", [True, False])
def test_strings_are_cut_as_here(lowercase: bool, program: Path, tmp_path: Path) -> None:
    check_program([str(program)], lowercase, tmp_path)
