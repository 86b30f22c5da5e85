"""The table against the tokenizer; `tests/clients/test_tokenizers.py` has those that read it."""

import numpy as np
import pytest

from keras_bert.clients.characters import character_table
from keras_bert.tokenizers.tokenizer import Tokenizer
from keras_bert.tokenizers.unicode_rules import normalize
from keras_bert.tokenizers.wordpiece_vocabulary import SPECIAL_TOKENS


def read(table):
    tables = {}
    for line in table.splitlines():
        kind, *codes = line.split(" ")
        tables.setdefault(kind, []).append([int(code, 16) for code in codes])
    return tables


@pytest.mark.parametrize("lowercase", [True, False, "keep_accents"])
def test_characters_become_what_they_do_here(lowercase):
    lines = read(character_table(lowercase))
    dropped, blank = (
        {code for first, last in lines[kind] for code in range(first, last + 1)} for kind in ("dropped", "blank")
    )
    replaced = {code: "".join(map(chr, codes)) for code, *codes in lines["replaced"]} if lowercase else {}
    assert set(range(0xD800, 0xE000)) <= dropped, "half a character"
    codes = [*range(0xD800), *range(0xE000, 0x20000), *range(0xE0000, 0xE0200), *range(0xFFFF0, 0x100010), 0x10FFFF]
    for code in set(codes) - set(range(0xAC00, 0xD7A4)):
        text = "" if code in dropped else " " if code in blank else replaced.get(code, chr(code))
        assert text == normalize(chr(code), lowercase), hex(code)
    assert ("syllables" in lines) == (lowercase is True)
    assert (normalize("가", lowercase) != "가") == (lowercase is True)


@pytest.mark.parametrize("lowercase", [True, False, "keep_accents"])
def test_words_end_where_they_do_here(lowercase):
    ranges = read(character_table(lowercase))["isolated"]
    tokenizer = Tokenizer([*SPECIAL_TOKENS, "a"], lowercase)
    edges = {chr(code + step) for bounds in ranges for code in bounds for step in (-1, 0, 1)}
    normalized = {edge: normalize(edge, lowercase) for edge in edges}
    edges = {edge for edge, text in normalized.items() if len(text) == 1 and text != " "}
    texts = [f"a{edge}a" for edge in sorted(edges)]
    # One unknown word, or one between two that are known.
    isolated = np.asarray(tokenizer.tokenize(texts).row_lengths()) == 3
    expected = [any(first <= ord(normalized[edge]) <= last for first, last in ranges) for edge in sorted(edges)]
    assert isolated.tolist() == expected
    assert 100 < sum(expected) < len(expected) - 100


def test_every_range_is_told_once_and_rises():
    for ranges in read(character_table(True)).values():
        starts = [codes[0] for codes in ranges]
        assert starts == sorted(set(starts))
