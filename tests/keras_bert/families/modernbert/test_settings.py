import pytest

from keras_bert.families.modernbert.settings import ModernBERT


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
