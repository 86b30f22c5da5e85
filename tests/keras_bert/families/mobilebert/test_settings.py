import pytest

from keras_bert.core.config import EncoderConfig, EncoderShape
from keras_bert.families.mobilebert.settings import MobileBERT

SHAPE = {"num_layers": 1, "hidden_size": 8, "num_heads": 2, "intermediate_size": 6, "embedding_size": 3}


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
        EncoderShape(**{**SHAPE, **changes}, variant=MobileBERT(bottleneck_size=6))


def test_in_and_out():
    config = EncoderConfig(
        **SHAPE, vocabulary_size=9, variant=MobileBERT(bottleneck_size=6, feed_forwards=2, normalization="layer_norm")
    )
    assert EncoderConfig.from_dict(config.as_dict()) == config
