import numpy as np

from keras_bert.families.bigbird.span_head import QuestionBias, SpanTransform


def test_the_question_is_hidden_but_for_its_first_token():
    ids = np.array([[0, 7, 7, 2, 7, 2], [0, 7, 2, 5, 2, 1]], "int32")
    padding = np.array([[0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, -120]], "float32")[:, None, None, :]
    bias = np.asarray(QuestionBias(2)(ids, padding))[:, 0, 0]
    assert bias.tolist() == [[0, -120, -120, -120, 0, 0], [0, -120, -120, 0, 0, -120]]


def test_a_residual_around_a_feed_forward_layer():
    layer, x = SpanTransform(6, "relu", 0.0, 1e-12, 0.5), np.random.default_rng(0).normal(size=(2, 3, 4))
    x = x.astype("float32")
    outputs = np.asarray(layer(x))
    first, second = (
        part.kernel.numpy() for part in (layer.feed_forward.intermediate, layer.feed_forward.output_projection)
    )
    total = x + np.maximum(x @ first, 0) @ second
    expected = (total - total.mean(-1, keepdims=True)) / total.std(-1, keepdims=True)
    np.testing.assert_allclose(outputs, expected, atol=2e-5)
    assert SpanTransform.from_config(layer.get_config()).get_config() == layer.get_config()
