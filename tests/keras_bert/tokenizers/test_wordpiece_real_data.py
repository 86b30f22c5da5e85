"""Every line of real text against Hugging Face `tokenizers`. Slow: run with `pytest -m slow`."""

import os
from pathlib import Path

import pytest

from benchmarks.tokenizer import check, load

DATA = Path(os.environ.get("BERT_TEST_DATA", "../shared/data")).absolute()
PYTHON = os.environ.get("TRANSFORMERS_PYTHON", "")
FILES = sorted([*DATA.glob("tokenizer/*.txt"), *DATA.glob("corpus/*.txt")])
VOCABULARIES = sorted(DATA.glob("vocab/*.txt"))


@pytest.mark.slow
@pytest.mark.skipif(not FILES, reason="needs BERT_TEST_DATA, a folder with vocab/, corpus/ and tokenizer/")
@pytest.mark.skipif(not PYTHON, reason="needs TRANSFORMERS_PYTHON, an interpreter with tokenizers")
@pytest.mark.parametrize("text", FILES, ids=lambda file: file.stem)
@pytest.mark.parametrize("vocabulary", VOCABULARIES, ids=lambda file: file.stem)
def test_no_line_differs_from_the_reference(vocabulary: Path, text: Path) -> None:
    lines = text.read_bytes().decode(errors="replace").split("\n")
    differences = check(load(vocabulary), PYTHON, lines)
    assert differences.texts == len(lines)
    assert (differences.ids, differences.offsets) == (0, 0)


@pytest.mark.slow
@pytest.mark.skipif(not VOCABULARIES, reason="needs BERT_TEST_DATA, a folder with vocab/")
@pytest.mark.skipif(not PYTHON, reason="needs TRANSFORMERS_PYTHON, an interpreter with tokenizers")
@pytest.mark.parametrize("vocabulary", VOCABULARIES, ids=lambda file: file.stem)
@pytest.mark.parametrize("shape", ["{}", "a{}b", "a {}", "{0}2 x{0}{0}"])
def test_no_character_differs_from_the_reference(vocabulary: Path, shape: str) -> None:
    texts = [shape.format(chr(place)) for place in range(0x110000) if not 0xD800 <= place < 0xE000]
    differences = check(load(vocabulary), PYTHON, texts)
    assert (differences.ids, differences.offsets) == (0, 0)
