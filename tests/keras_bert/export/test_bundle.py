"""A pushed folder that lacks something, and long texts; asking a whole one is part of the end-to-end test."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from keras_bert.export.bundle import Bundle
from keras_bert.tokenizer import SPECIAL_TOKENS, Tokenizer


@pytest.mark.parametrize("missing", ["model.tflite", "vocab.txt", "tokenizer.json", "labels.json"])
def test_what_is_missing_is_named(tmp_path: Path, missing: str) -> None:
    for name in ("model.tflite", "vocab.txt", "tokenizer.json", "labels.json"):
        (tmp_path / name).write_text("[]")
    (tmp_path / missing).unlink()
    with pytest.raises(FileNotFoundError, match=f"is no pushed model: it has no {missing}"):
        Bundle(tmp_path)


def test_tokens_are_counted_before_the_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("keras_bert.export.bundle.TFLiteClassifier", lambda *_: SimpleNamespace(max_length=6))
    for name in ("model.tflite", "labels.json"):
        (tmp_path / name).write_text("[]")
    Tokenizer([*SPECIAL_TOKENS, "a", "##b", "c"], lowercase=True).save(tmp_path)
    bundle = Bundle(tmp_path)
    firsts, seconds = ["ab c", "a a a a", "c c c c ab", ""], ["a", "c", "ab ab", ""]
    assert bundle.count_tokens(firsts) == [5, 6, 8, 2]
    assert bundle.count_tokens(firsts, seconds) == [7, 8, 13, 3]
    for second in (None, seconds):
        for number, count in enumerate(bundle.count_tokens(firsts, second)):
            encoded = bundle.encode(firsts[number], second and second[number])
            assert encoded["padding_mask"].sum() == min(count, 6)
    with pytest.raises(ValueError, match="second_texts must be as many as texts"):
        bundle.count_tokens(firsts, ["a"])
