import numpy as np
import pytest
import tensorflow as tf
import tensorflow_text as tf_text

from keras_bert.tokenizers.normalizer_model import matcher_vocabulary, normalizer_model
from keras_bert.tokenizers.unicode_rules import LATER_PUNCTUATION, normalize


def build(lowercase):
    model = tf.constant(np.frombuffer(normalizer_model(lowercase), np.uint8))
    return tf_text.FastBertNormalizer(model_buffer=model)


@pytest.mark.parametrize("lowercase", [True, False])
def test_the_op_applies_the_rules_to_every_character(lowercase):
    code_points = [place for place in range(0x110000) if not 0xD800 <= place < 0xE000]
    normalized = build(lowercase).normalize(tf.constant([chr(place) for place in code_points])).numpy()
    wrong = [
        place
        for place, text in zip(code_points, normalized, strict=True)
        if text.decode().strip(" ") != normalize(chr(place), lowercase).strip(" ")
    ]
    skipped_chinese = range(0x2B820, 0x2B920)
    assert wrong == sorted({*LATER_PUNCTUATION, *skipped_chinese})


def test_unknown_punctuation_stands_apart_and_invalid_utf8_vanishes():
    assert build(lowercase=False).normalize(["a\u166db"]).numpy() == ["a \u166d b".encode()]
    broken = [b"a\x80\xffb", b"a\xc3", b"a\xe0\xa0b\xf0\x90\x80", b"\xed\xa0\x80a\xc0\xafb\xf4\x90\x80\x80"]
    assert build(lowercase=True).normalize(broken).numpy().tolist() == [b"ab", b"a", b"ab", b"ab"]


def test_pieces_wear_the_stand_ins_of_the_text():
    text = build(lowercase=False).normalize(["a\u2e52"]).numpy()[0].decode()
    assert matcher_vocabulary(["a\u2e52", "##a"], lowercase=False) == [text, "##a"]
    pieces = ["[UNK]", "A", "a b", "\ue000", "\0", "é", "a"]
    assert matcher_vocabulary(pieces, lowercase=True) == [*(f"\ue000.{n}" for n in range(6)), "a"]
