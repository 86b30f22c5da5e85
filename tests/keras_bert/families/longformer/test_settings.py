from keras_bert.families.longformer.settings import Longformer


def test_how_far_a_layer_sees():
    assert [Longformer().reach(layer) for layer in range(2)] == [256, 256]
    assert [Longformer(windows=(2, 8)).reach(layer) for layer in range(2)] == [1, 4]


def test_layers_go_on_to_see_what_they_saw():
    variant = Longformer(windows=(2, 8, 8))
    assert variant.of_layers((0, 2)) == Longformer(windows=(2, 8))
    assert variant.of_layers((1, 2)) == Longformer(window=8)
    assert Longformer(window=6).of_layers((1,)) == Longformer(window=6)
