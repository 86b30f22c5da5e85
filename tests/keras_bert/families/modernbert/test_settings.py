import pytest

from keras_bert.core.config import EncoderConfig, EncoderShape
from keras_bert.families.modernbert.settings import ModernBERT

SHAPE = {"num_layers": 4, "hidden_size": 8, "num_heads": 2, "intermediate_size": 6, "num_segments": 0}


def kinds(variant, layers):
    return [variant.is_global(layer) for layer in range(layers)]


def test_which_layers_see_the_whole_text():
    assert kinds(ModernBERT(), 7) == [True, False, False, True, False, False, True]
    assert kinds(ModernBERT(global_layers=(1,)), 3) == [False, True, False]
    assert [ModernBERT().theta(layer) for layer in range(3)] == [160_000.0, 10_000.0, 10_000.0]
    assert ModernBERT().reach == 64


@pytest.mark.parametrize(
    ("variant", "layers", "expected"),
    [
        (ModernBERT(global_every=2), (0, 1, 2), ModernBERT(global_every=2)),
        (ModernBERT(global_every=2), (1, 2), ModernBERT(global_every=2, global_layers=(1,))),
        (ModernBERT(global_every=3), (1, 2), ModernBERT(global_every=3, global_layers=())),
        (ModernBERT(global_every=3, global_layers=(1, 2)), (1, 0, 0, 2), ModernBERT(global_every=3)),
    ],
)
def test_layers_go_on_to_see_what_they_saw(variant, layers, expected):
    settings = variant.of_layers(layers)
    assert settings == expected
    assert kinds(settings, len(layers)) == [variant.is_global(layer) for layer in layers]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_segments": 2}, "EncoderShape.num_segments must be 0 with the variant 'modernbert', got 2"),
        ({"position_offset": 2}, "EncoderShape.position_offset must be 0 with the variant 'modernbert', got 2"),
        ({"embedding_size": 4}, "EncoderShape.embedding_size must be None with the variant 'modernbert', got 4"),
        ({"shared_layers": True}, "EncoderShape.shared_layers must be False with the variant 'modernbert', got True"),
        ({"hidden_size": 6}, "EncoderShape.hidden_size must give heads of an even size, got 6"),
        (
            {"variant": ModernBERT(global_layers=(0, 4))},
            r"EncoderShape.global_layers must be below num_layers=4, got \(0, 4\)",
        ),
    ],
)
def test_what_does_not_go_together(changes, message):
    with pytest.raises(ValueError, match=message):
        EncoderShape(**{**SHAPE, "variant": ModernBERT(), **changes})


def test_as_plain_values_and_back():
    config = EncoderConfig(**SHAPE, vocabulary_size=9, variant=ModernBERT(window=4, global_layers=(0, 3)))
    plain = config.as_dict()
    assert plain["variant"]["kind"] == "modernbert"
    assert EncoderConfig.from_dict({**plain, "variant": {**plain["variant"], "global_layers": [0, 3]}}) == config


def test_unknown_kinds():
    with pytest.raises(ValueError, match=r"Variant.kind must be one of .*'modernbert'.*, got 'moderm'"):
        EncoderConfig.from_dict({**SHAPE, "vocabulary_size": 9, "variant": {"kind": "moderm"}})
