import pytest

from keras_bert.core.config import EncoderConfig
from keras_bert.families.deberta.settings import DeBERTa

SHAPE = {"num_layers": 1, "hidden_size": 8, "num_heads": 2, "intermediate_size": 6, "vocabulary_size": 9}


def test_there_and_back():
    variant = DeBERTa(position_buckets=0, content_to_position=False, convolution=3)
    config = EncoderConfig(**SHAPE, variant=variant)
    assert EncoderConfig.from_dict(config.as_dict()) == config
    assert (variant.span, variant.terms) == (512, 2)


def test_an_unknown_kind():
    with pytest.raises(ValueError, match=r"Variant.kind must be one of .*'deberta'.*, got 'entangled'"):
        EncoderConfig.from_dict({**SHAPE, "variant": {"kind": "entangled"}})
