from keras_bert.options.export import Export


def test_the_longest_input_has_a_signature_and_none_is_longer():
    export = Export(lengths=(64, 32, 128))
    assert export.choose_lengths(128) == [32, 64, 128]
    assert export.choose_lengths(100) == [32, 64, 100]
    assert export.choose_lengths(384) == [32, 64, 128, 384]
    assert export.choose_lengths(16) == Export(lengths=()).choose_lengths(16) == [16]
