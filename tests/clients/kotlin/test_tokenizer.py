"""The tokenizer in Kotlin, compiled, against the library's."""

import subprocess
from pathlib import Path

import pytest

import keras_bert.clients.characters
from keras_bert.clients.characters import character_table
from keras_bert.tokenizers.tokenizer import Tokenizer
from tests.clients.fuzz import PIECES, cut, make_strings

pytestmark = pytest.mark.kotlin

SOURCES = (Path(keras_bert.clients.characters.__file__).with_name("WordPiece.kt"), Path(__file__).with_name("Cut.kt"))


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("kotlin") / "cut.jar"
    subprocess.run(["kotlinc", *map(str, SOURCES), "-include-runtime", "-d", str(made)], check=True)
    return made


@pytest.mark.parametrize("lowercase", [True, False])
def test_strings_are_cut_as_here(lowercase: bool, program: Path, tmp_path: Path) -> None:
    texts = make_strings(seed=8)
    files = {"vocab.txt": "".join(f"{piece}\n" for piece in PIECES), "characters.txt": character_table(lowercase)}
    for name, content in files.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    given = "".join(f"{' '.join(str(ord(character)) for character in text)}\n" for text in texts)
    command = ["java", "-jar", str(program), *(str(tmp_path / name) for name in files)]
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=True)
    lines = done.stdout.split("\n")[:-1]
    found = [[[int(part) for part in piece.split(":")] for piece in line.split()] for line in lines]
    wanted = cut(Tokenizer(PIECES, lowercase), texts)
    assert len(found) == len(wanted)
    assert [text for text, one, other in zip(texts, found, wanted, strict=True) if one != other] == []
