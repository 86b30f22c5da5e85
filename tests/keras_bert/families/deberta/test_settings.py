import pytest

from keras_bert.core.config import EncoderConfig
from keras_bert.families.deberta.settings import DeBERTa

SHAPE = {"num_layers": 1, "hidden_size": 8, "num_heads": 2, "intermediate_size": 6, "vocabulary_size": 9}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_distance": 0}, "DeBERTa.max_distance must be positive, got 0"),
        ({"position_buckets": 3}, "DeBERTa.position_buckets must be 0 or at least 4, got 3"),
        ({"position_buckets": 8, "max_distance": 5}, "must be larger than half of position_buckets=8 and 1, got 5"),
        (
            {"content_to_position": False, "position_to_content": False},
            "content_to_position must be true where position_to_content is not, got False",
        ),
        ({"convolution": 2}, "DeBERTa.convolution must be 0 or an odd number, got 2"),
        ({"convolution_activation": "gelu"}, "convolution_activation must be .* or 'relu', got 'gelu'"),
    ],
)
def test_out_of_range(settings, message):
    with pytest.raises(ValueError, match=message):
        DeBERTa(**settings)


def test_there_and_back():
    variant = DeBERTa(position_buckets=0, content_to_position=False, convolution=3)
    config = EncoderConfig(**SHAPE, variant=variant)
    assert EncoderConfig.from_dict(config.as_dict()) == config
    assert (variant.span, variant.terms) == (512, 2)


def test_an_unknown_kind():
    with pytest.raises(ValueError, match=r"Variant.kind must be one of .*'deberta'.*, got 'entangled'"):
        EncoderConfig.from_dict({**SHAPE, "variant": {"kind": "entangled"}})
