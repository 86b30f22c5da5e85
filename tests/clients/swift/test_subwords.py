"""The tokenizer of subwords in Swift, compiled, against the library's."""

import subprocess
from pathlib import Path

import pytest

import keras_bert.clients.subword_rules
from tests.clients.subword_fuzz import FAMILIES, check_subwords

pytestmark = pytest.mark.swift

SOURCES = (
    Path(keras_bert.clients.subword_rules.__file__).with_name("Subwords.swift"),
    Path(__file__).parent / "subwords" / "main.swift",
)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    binary = tmp_path_factory.mktemp("swift") / "split"
    subprocess.run(["swiftc", "-O", "-warnings-as-errors", *map(str, SOURCES), "-o", str(binary)], check=True)
    return binary


@pytest.mark.parametrize("family", FAMILIES)
def test_texts_are_split_as_here(family: str, program: Path, tmp_path: Path) -> None:
    check_subwords([str(program)], family, tmp_path)
