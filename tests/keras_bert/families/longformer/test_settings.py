import pytest

from keras_bert.core.config import EncoderConfig, EncoderShape
from keras_bert.families.longformer.settings import Longformer

SHAPE = {"num_layers": 3, "hidden_size": 8, "num_heads": 2, "intermediate_size": 6}


def test_how_far_a_layer_sees():
    assert [Longformer().reach(layer) for layer in range(2)] == [256, 256]
    assert [Longformer(windows=(2, 8)).reach(layer) for layer in range(2)] == [1, 4]


def test_layers_go_on_to_see_what_they_saw():
    variant = Longformer(windows=(2, 8, 8))
    assert variant.of_layers((0, 2)) == Longformer(windows=(2, 8))
    assert variant.of_layers((1, 2)) == Longformer(window=8)
    assert Longformer(window=6).of_layers((1,)) == Longformer(window=6)


def test_what_does_not_go_together():
    with pytest.raises(
        ValueError, match=r"EncoderShape.windows must hold one window for each of num_layers=3, got \(4, 4\)"
    ):
        EncoderShape(**SHAPE, variant=Longformer(windows=(4, 4)))
    with pytest.raises(ValueError, match="shared_layers must be False with the variant 'longformer', got True"):
        EncoderShape(**SHAPE, shared_layers=True, variant=Longformer())


def test_as_plain_values_and_back():
    config = EncoderConfig(**SHAPE, vocabulary_size=9, variant=Longformer(windows=(2, 4, 6)))
    plain = config.as_dict()
    assert EncoderConfig.from_dict({**plain, "variant": {**plain["variant"], "windows": [2, 4, 6]}}) == config
