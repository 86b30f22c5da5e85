from keras_bert.families.deberta.settings import DeBERTa


def test_span_and_terms_of_attention():
    variant = DeBERTa(position_buckets=0, content_to_position=False, convolution=3)
    assert (variant.span, variant.terms) == (512, 2)
