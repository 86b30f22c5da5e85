"""The tokenizer of subwords in Kotlin, compiled, against the library's."""

import subprocess
from pathlib import Path

import pytest

import keras_bert.clients.subword_rules
from tests.clients.subword_fuzz import FAMILIES, check_subwords

pytestmark = pytest.mark.kotlin

SOURCES = (
    Path(keras_bert.clients.subword_rules.__file__).with_name("Subwords.kt"),
    Path(__file__).with_name("Split.kt"),
)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    jar = tmp_path_factory.mktemp("kotlin") / "split.jar"
    subprocess.run(["kotlinc", *map(str, SOURCES), "-include-runtime", "-d", str(jar)], check=True)
    return jar


@pytest.mark.parametrize("family", FAMILIES)
def test_texts_are_split_as_here(family: str, program: Path, tmp_path: Path) -> None:
    check_subwords(["java", "-jar", str(program)], family, tmp_path)
