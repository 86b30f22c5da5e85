import dataclasses

import numpy as np
import pytest
from keras import ops

from keras_bert.compress.students import initialize_from_teacher
from keras_bert.core.config import EncoderConfig
from keras_bert.families.deberta.settings import DeBERTa
from keras_bert.models.encoder import build_encoder, encoder_of
from keras_bert.models.pretraining import build_pretraining
from tests.keras_bert.models.test_encoder import SETTINGS, make_inputs, randomize

CONFIG = EncoderConfig(
    **SETTINGS,
    num_segments=0,
    pooler_activation="gelu_erf",
    variant=DeBERTa(position_buckets=4, max_distance=6, convolution=3),
)
NAMES = ("token_ids", "padding_mask")


@pytest.fixture(scope="module")
def model():
    made = build_pretraining(build_encoder(CONFIG, pooler=False), next_sentence=False)
    randomize(made)
    return made


def states(model, inputs):
    return np.asarray(encoder_of(model)({name: inputs[name] for name in NAMES})["sequence_output"])


def test_where_all_relative_positions_are_alike_nothing_tells_equal_tokens_apart():
    variant = dataclasses.replace(CONFIG.variant, convolution=0)
    encoder = build_encoder(dataclasses.replace(CONFIG, variant=variant), pooler=False)
    ids = np.full((1, 6), 3, "int32")
    encoder.get_layer("relative_embedding").embeddings.assign(np.zeros((8, 8)))
    states = np.asarray(encoder({"token_ids": ids, "padding_mask": np.ones_like(ids)})["sequence_output"])
    np.testing.assert_allclose(states, np.broadcast_to(states[:, :1], states.shape), atol=1e-6)


def test_one_block_for_all_layers(model):
    shared = build_encoder(dataclasses.replace(CONFIG, shared_layers=True), pooler=False)
    pair = build_encoder(CONFIG, pooler=False)
    randomize(shared)
    for name in ("token_embedding", "embeddings_norm", "relative_embedding", "convolution"):
        pair.get_layer(name).set_weights(shared.get_layer(name).get_weights())
    for name in ("block_0", "block_1"):
        pair.get_layer(name).set_weights(shared.get_layer("block_0").get_weights())
    np.testing.assert_allclose(states(pair, make_inputs()), states(shared, make_inputs()), atol=1e-6)


def test_a_convolution_needs_a_block_after_it():
    with pytest.raises(ValueError, match="num_layers must be at least 2 with a convolution, got 1"):
        build_encoder(dataclasses.replace(CONFIG, num_layers=1))


def test_a_student_takes_over_what_all_blocks_share():
    encoders = [build_encoder(dataclasses.replace(CONFIG, max_length=length), pooler=False) for length in (5, 9)]
    student, teacher = encoders
    randomize(teacher)
    copied = initialize_from_teacher(student, teacher, (1, 1))
    shared = {"token_embedding", "embeddings_norm", "relative_embedding", "convolution"}
    assert copied == {**{name: name for name in shared}, "block_0": "block_1", "block_1": "block_1"}
    for name, source in copied.items():
        np.testing.assert_equal(student.get_layer(name).get_weights(), teacher.get_layer(source).get_weights())


def test_masked_tokens_can_be_learnt(model):
    inputs = {name: make_inputs()[name] for name in NAMES} | {"mask_positions": np.array([[1], [0], [2]], "int32")}
    logits = model(inputs, training=True)["masked_tokens"]
    assert logits.shape == (3, 1, 20)
    assert not np.allclose(logits, model(inputs)["masked_tokens"])
    assert np.isfinite(ops.convert_to_numpy(logits)).all()
