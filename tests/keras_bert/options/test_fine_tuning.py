from keras_bert.options.fine_tuning import Selection


def test_patience_goes_with_the_best():
    assert Selection(patience=2).keep == "best"
    assert Selection(keep="last").patience is None
