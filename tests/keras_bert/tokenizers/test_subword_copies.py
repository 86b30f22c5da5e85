"""The parts of a `tokenizer.json` that the tokenizers of apps refuse."""

from typing import Any

import pytest

from keras_bert.tokenizers.subword_copies import byte_characters, find_copy_obstacle
from tests.keras_bert.tokenizers.subwords import content

_REGEX = {"type": "Replace", "pattern": {"Regex": "a+"}, "content": "b"}
_FLAGS = {"single_word": True, "lstrip": False, "rstrip": False, "normalized": False}


@pytest.mark.parametrize("kind", ["bpe", "modern", "unigram"])
def test_released_kinds_are_known(kind: str) -> None:
    assert find_copy_obstacle(content(kind)) == ""


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"normalizer": {"type": "Nmt"}}, "no normalizer 'Nmt'"),
        ({"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Prepend"}]}}, "'Prepend'"),
        ({"normalizer": _REGEX}, "no normalizer Replace of the expression 'a+'"),
        ({"pre_tokenizer": {"type": "Digits"}}, "no pre_tokenizer 'Digits'"),
        ({"pre_tokenizer": {"type": "ByteLevel", "use_regex": False}}, "ByteLevel with use_regex False"),
        ({"added_tokens": [{"content": "<a>", "special": False, **_FLAGS}]}, "no added token with single_word '<a>'"),
        ({"model": {**content("bpe")["model"], "byte_fallback": True}}, "no model with byte_fallback True"),
        ({"model": {**content("bpe")["model"], "dropout": 0.1}}, "no model with dropout 0.1"),
        ({"model": {**content("bpe")["model"], "vocab": {}}}, "need a token for each of the 256 bytes"),
    ],
)
def test_an_unknown_part_is_named(change: dict[str, Any], message: str) -> None:
    assert message in find_copy_obstacle({**content("bpe"), **change})


def test_a_step_that_is_no_object_is_refused() -> None:
    with pytest.raises(ValueError, match="must hold objects for steps, got 7"):
        find_copy_obstacle({**content("bpe"), "normalizer": 7})


def test_characters_of_bytes_are_those_of_the_library() -> None:
    from tokenizers import pre_tokenizers

    assert sorted(byte_characters()) == sorted(pre_tokenizers.ByteLevel.alphabet())
