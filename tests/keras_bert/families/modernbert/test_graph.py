import dataclasses

import numpy as np
import pytest

from keras_bert.families.modernbert.settings import ModernBERT
from keras_bert.models.encoder import build_encoder, encoder_of
from keras_bert.models.pretraining import build_pretraining
from keras_bert.tasks.classification import build_classifier
from keras_bert.tasks.question_answering import build_span_classifier
from keras_bert.tasks.token_classification import build_tagger
from tests.keras_bert.models.test_encoder import ACTIVATIONS, make_inputs, randomize
from tests.keras_bert.tiny import tiny_config

# The second layer sees the whole text, as no rule of every n-th would have it.
CONFIG = tiny_config(
    intermediate_size=6,
    num_segments=0,
    activation="gelu_erf",
    layer_norm_epsilon=0.01,
    variant=ModernBERT(window=2, global_layers=(1,), embedding_dropout=0.2),
)
INPUTS = {name: array for name, array in make_inputs().items() if name != "segment_ids"}


@pytest.fixture(scope="module")
def encoder():
    model = build_encoder(CONFIG)
    randomize(model)
    return model


def norm(x, gamma):
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 0.01) * gamma


def predicted(x, model, name):
    head = model.get_layer(name)
    return norm(ACTIVATIONS["gelu_erf"](x @ head.dense.kernel.numpy()), head.norm.gamma.numpy())


def test_the_encoder_inside_a_model_ends_behind_the_final_norm(encoder):
    inner = encoder_of(build_tagger(encoder, 3))
    expected = np.asarray(encoder(INPUTS)["sequence_output"])
    np.testing.assert_array_equal(inner(INPUTS)["sequence_output"], expected)
    # Divided by the norm's scale, each state has a mean of 0.
    gamma = encoder.get_layer("final_norm").gamma.numpy()
    np.testing.assert_allclose((expected / gamma).mean(axis=-1), np.zeros((3, 7)), atol=1e-5)


def logits(model, vectors, head):
    """A linear layer on the vectors behind the prediction head."""
    last = model.get_layer(head)
    return predicted(vectors, model, "prediction_head") @ last.kernel.numpy() + last.bias.numpy()


def test_every_head_begins_alike(encoder):
    states, mask = np.asarray(encoder(INPUTS)["sequence_output"]), INPUTS["padding_mask"][:, :, None]
    first = predicted(states[:, 0], encoder, "pooler")
    np.testing.assert_allclose(encoder(INPUTS)["pooled_output"], first, atol=2e-5)
    classifier, tagger = build_classifier(encoder, 3, pooling="mean"), build_tagger(encoder, 3)
    mean = (states * mask).sum(axis=1) / mask.sum(axis=1)
    np.testing.assert_allclose(classifier(INPUTS), logits(classifier, mean, "classifier"), atol=2e-5)
    np.testing.assert_allclose(tagger(INPUTS), logits(tagger, states, "classifier"), atol=2e-5)
    answers = build_span_classifier(encoder)
    expected = logits(answers, states, "span_classifier") - 120 * (1 - mask)
    np.testing.assert_allclose(answers(INPUTS), expected, atol=2e-5)


def test_masked_tokens(encoder):
    model = build_pretraining(encoder, next_sentence=False)
    inputs = {**INPUTS, "mask_positions": np.array([[0, 3], [1, 0], [6, 2]], "int32")}
    chosen = np.take_along_axis(np.asarray(encoder(INPUTS)["sequence_output"]), inputs["mask_positions"][:, :, None], 1)
    vectors = predicted(chosen, model, "masked_token_transform")
    expected = vectors @ model.get_layer("token_embedding").embeddings.numpy().T
    np.testing.assert_allclose(model(inputs)["masked_tokens"], expected, atol=2e-5)


def test_a_rate_of_its_own_drops_embeddings():
    for rate in (0.0, 0.5):
        variant = ModernBERT(embedding_dropout=rate)
        config = dataclasses.replace(CONFIG, dropout=0.0, attention_dropout=0.0, variant=variant)
        model = build_encoder(config, pooler=False)
        same = np.array_equal(*(model(INPUTS, training=training)["sequence_output"] for training in (False, True)))
        assert same == (rate == 0)


@pytest.mark.parametrize(("layers", "farthest"), [((), 2), ((0,), 6), ((1,), 6)])
def test_how_far_a_token_is_seen(layers, farthest):
    model = build_encoder(dataclasses.replace(CONFIG, variant=ModernBERT(window=2, global_layers=layers)), pooler=False)
    inputs = {"token_ids": np.arange(7, dtype="int32")[None], "padding_mask": np.ones((1, 7), "int32")}
    other = {**inputs, "token_ids": np.array([[0, 1, 2, 3, 4, 5, 19]], "int32")}
    states = [np.asarray(model(model_inputs)["sequence_output"])[0] for model_inputs in (inputs, other)]
    changed = np.flatnonzero(np.any(states[0] != states[1], axis=-1))
    assert changed.tolist() == list(range(6 - farthest, 7))
