"""A pushed folder that lacks something; asking a whole one is part of the end-to-end test."""

from pathlib import Path

import pytest

from keras_bert.export.bundle import Bundle


@pytest.mark.parametrize("missing", ["model.tflite", "vocab.txt", "tokenizer.json", "labels.json"])
def test_what_is_missing_is_named(tmp_path: Path, missing: str) -> None:
    for name in ("model.tflite", "vocab.txt", "tokenizer.json", "labels.json"):
        (tmp_path / name).write_text("[]")
    (tmp_path / missing).unlink()
    with pytest.raises(FileNotFoundError, match=f"is no pushed model: it has no {missing}"):
        Bundle(tmp_path)
