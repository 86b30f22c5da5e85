import pytest

from keras_bert.config import EncoderShape
from keras_bert.variants.bottleneck import Bottleneck
from keras_bert.variants.registry import read_variant

SHAPE = {"num_layers": 1, "hidden_size": 8, "num_heads": 2, "intermediate_size": 6, "embedding_size": 3}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"bottleneck_size": 0}, "Bottleneck.bottleneck_size must be at least 1, got 0"),
        ({"feed_forwards": 0}, "Bottleneck.feed_forwards must be at least 1, got 0"),
        ({"normalization": "rms"}, "Bottleneck.normalization must be one of .*no_norm.*, got 'rms'"),
    ],
)
def test_out_of_range(settings, message):
    with pytest.raises(ValueError, match=message):
        read_variant({"kind": "bottleneck", **settings})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_heads": 4}, "EncoderShape.variant.bottleneck_size must be a multiple of num_heads=4, got 6"),
        ({"embedding_size": None}, "EncoderShape.embedding_size must be set and below hidden_size=8 .*, got None"),
        ({"embedding_size": 8}, "EncoderShape.embedding_size must be set and below hidden_size=8 .*, got 8"),
        ({"shared_layers": True}, "EncoderShape.shared_layers must be False in a bottleneck encoder, got True"),
    ],
)
def test_shapes_that_do_not_go_with_it(changes, message):
    with pytest.raises(ValueError, match=message):
        EncoderShape(**{**SHAPE, **changes}, variant=Bottleneck(bottleneck_size=6))


def test_in_and_out():
    variant = Bottleneck(feed_forwards=2, normalization="layer_norm")
    assert read_variant(variant.as_dict()) == variant
