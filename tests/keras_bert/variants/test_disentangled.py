import pytest

from keras_bert.variants.disentangled import Disentangled
from keras_bert.variants.registry import read_variant


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_distance": 0}, "Disentangled.max_distance must be at least 1, got 0"),
        ({"position_buckets": 3}, "Disentangled.position_buckets must be 0 or at least 4, got 3"),
        ({"position_buckets": 8, "max_distance": 5}, "must be larger than half of position_buckets=8 and 1, got 5"),
        (
            {"content_to_position": False, "position_to_content": False},
            "content_to_position must be true where position_to_content is not, got False",
        ),
        ({"convolution": 2}, "Disentangled.convolution must be 0 or an odd number, got 2"),
        ({"convolution_activation": "gelu"}, "convolution_activation must be one of .*'tanh'.*, got 'gelu'"),
    ],
)
def test_out_of_range(settings, message):
    with pytest.raises(ValueError, match=message):
        Disentangled(**settings)


def test_there_and_back():
    variant = Disentangled(position_buckets=0, content_to_position=False, convolution=3)
    assert read_variant(variant.as_dict()) == variant
    assert (variant.span, variant.terms) == (512, 2)


def test_an_unknown_kind():
    with pytest.raises(ValueError, match=r"Variant.kind must be one of .*'disentangled'.*, got 'entangled'"):
        read_variant({"kind": "entangled"})
