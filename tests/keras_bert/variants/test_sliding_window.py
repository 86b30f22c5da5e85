import pytest

from keras_bert.config import EncoderConfig, EncoderShape
from keras_bert.variants.sliding_window import SlidingWindow

SHAPE = {"num_layers": 3, "hidden_size": 8, "num_heads": 2, "intermediate_size": 6}


def test_how_far_a_layer_sees():
    assert [SlidingWindow().reach(layer) for layer in range(2)] == [256, 256]
    assert [SlidingWindow(windows=(2, 8)).reach(layer) for layer in range(2)] == [1, 4]


def test_layers_go_on_to_see_what_they_saw():
    variant = SlidingWindow(windows=(2, 8, 8))
    assert variant.of_layers((0, 2)) == SlidingWindow(windows=(2, 8))
    assert variant.of_layers((1, 2)) == SlidingWindow(window=8)
    assert SlidingWindow(window=6).of_layers((1,)) == SlidingWindow(window=6)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"window": 7}, "SlidingWindow.window must be even and at least 2, got 7"),
        ({"window": 0}, "SlidingWindow.window must be even and at least 2, got 0"),
        ({"windows": (4, 5)}, r"SlidingWindow.windows must be even and at least 2, got \(4, 5\)"),
    ],
)
def test_out_of_range(settings, message):
    with pytest.raises(ValueError, match=message):
        SlidingWindow(**settings)


def test_what_does_not_go_together():
    with pytest.raises(
        ValueError, match=r"SlidingWindow.windows must hold one window for each of num_layers=3, got \(4, 4\)"
    ):
        EncoderShape(**SHAPE, variant=SlidingWindow(windows=(4, 4)))
    with pytest.raises(ValueError, match="shared_layers must be False with the variant 'sliding_window', got True"):
        EncoderShape(**SHAPE, shared_layers=True, variant=SlidingWindow())


def test_as_plain_values_and_back():
    config = EncoderConfig(**SHAPE, vocabulary_size=9, variant=SlidingWindow(windows=(2, 4, 6)))
    plain = config.as_dict()
    assert EncoderConfig.from_dict({**plain, "variant": {**plain["variant"], "windows": [2, 4, 6]}}) == config
