"""Token ids by the rules of MediaPipe's source; `make test-clients` compares them with MediaPipe itself."""

import numpy as np
import pytest

from keras_bert.export.mediapipe_text import MediaPipeTokenizer, measure_other_ids
from keras_bert.tokenizers.eager import EagerWordPiece
from keras_bert.tokenizers.wordpiece_vocabulary import SPECIAL_TOKENS

PIECES = (*SPECIAL_TOKENS, "a", "##b", "ab", "##ar", "\u00e4", "\u6771", "$", "\u2014", "x")


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("AB ab", ["ab", "ab"]),
        ("aar a$b", ["a", "##ar", "a", "$", "[UNK]"]),
        ("\u00c4 \u00e4", ["[UNK]", "\u00e4"]),
        ("a\u200bb a\u00a0b", ["[UNK]", "[UNK]"]),
        ("a\u2014\u6771a", ["a", "\u2014", "\u6771", "a"]),
        ("[MASK]", ["[UNK]", "[UNK]", "[UNK]"]),
        ("a" + 99 * "b" + " a" + 100 * "b", ["ab", *98 * ["##b"], "[UNK]"]),
        ("\u00e4" + 50 * "b", ["\u00e4", *50 * ["##b"]]),
        (51 * "\u00e4", ["[UNK]"]),
        (" \t\n", []),
    ],
)
def test_pieces(text: str, pieces: list[str]) -> None:
    (ids,) = MediaPipeTokenizer(PIECES, lowercase=True).tokenize([text]).to_list()
    assert [PIECES[number] for number in ids] == pieces


def test_rows_have_the_training_layout() -> None:
    theirs, ours = (
        tokenizer(PIECES, lowercase=True).encode(["ab a", "x x x x"], max_length=5)
        for tokenizer in (MediaPipeTokenizer, EagerWordPiece)
    )
    assert theirs.keys() == ours.keys()
    assert all(np.array_equal(theirs[name], values) for name, values in ours.items())


def test_the_share_of_texts_with_other_ids() -> None:
    tokenizer = EagerWordPiece(PIECES, lowercase=True)
    assert measure_other_ids(tokenizer, ["ab", "AB x", "\u00e1b", "a\u200bb"]) == 0.5
