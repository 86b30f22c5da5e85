import dataclasses

import keras
import numpy as np
import pytest

from keras_bert.families.deberta.settings import DeBERTa
from keras_bert.families.registry import family_of
from keras_bert.interop.hugging_face import to_hugging_face
from keras_bert.models.encoder import build_encoder, encoder_of
from keras_bert.models.pretraining import POSITIONS, build_pretraining
from keras_bert.models.replaced_tokens import build_joint, build_replaced_tokens
from keras_bert.models.saving import load_model, save_model
from keras_bert.options.adaptation import Prompt
from keras_bert.options.pretraining import Generator
from keras_bert.tasks.pretraining import Pretraining
from tests.keras_bert.models.test_encoder import make_inputs, randomize
from tests.keras_bert.tasks.tiny import make_tokenizer
from tests.keras_bert.tiny import tiny_config

CONFIG = tiny_config(num_segments=0, variant=DeBERTa(position_buckets=0, max_distance=4))
INPUTS = {name: value for name, value in make_inputs().items() if name != "segment_ids"}
HIDDEN = {**INPUTS, "mask_positions": np.array([[0, 3], [1, 0], [6, 2]], "int32")}


def build(**changes):
    encoder = build_encoder(dataclasses.replace(CONFIG, **changes), pooler=False)
    return build_pretraining(encoder, next_sentence=False, mask_decoder=True)


@pytest.mark.parametrize("shared", [False, True])
def test_the_last_block_asks_twice_with_positions_what_it_reads_below(shared):
    model = build(shared_layers=shared)
    randomize(model)
    get = model.get_layer
    bias = get("attention_bias")(INPUTS["padding_mask"])
    embedded = get("embeddings_norm")(get("token_embedding")(INPUTS["token_ids"]))
    relative = get("relative_embedding")(embedded)
    below = get("block_0")(embedded, bias, relative)
    last = get("block_0" if shared else "block_1")
    asking = below + get(POSITIONS).embeddings.numpy()[:7]
    states = last(below, bias, relative, last(below, bias, relative, asking))
    chosen = get("masked_token_transform")(states, HIDDEN["mask_positions"])
    expected = get("masked_token_bias")(get("token_embedding")(chosen, reverse=True))
    np.testing.assert_allclose(model(HIDDEN)["masked_tokens"], expected, atol=1e-5)
    # What is not about hidden tokens knows nothing of it.
    plain = last(below, bias, relative)
    np.testing.assert_allclose(encoder_of(model)(INPUTS)["sequence_output"], plain, atol=1e-5)


def test_where_a_token_stands_is_seen_by_the_decoder_alone():
    model = build()
    randomize(model)
    row = {"token_ids": np.full((1, 6), 7, "int32"), "padding_mask": np.ones((1, 6), "int32")}
    row["mask_positions"] = np.array([[2, 3]], "int32")
    get = model.get_layer
    before = np.asarray(model(row)["masked_tokens"])
    encoded = np.asarray(encoder_of(model)({name: row[name] for name in INPUTS})["sequence_output"])
    get(POSITIONS).embeddings.assign(get(POSITIONS).embeddings.numpy()[::-1])
    assert np.abs(np.asarray(model(row)["masked_tokens"]) - before).max() > 0.01
    again = encoder_of(model)({name: row[name] for name in INPUTS})["sequence_output"]
    np.testing.assert_array_equal(again, encoded)


def test_saved_and_built_again(tmp_path):
    config = dataclasses.replace(CONFIG, vocabulary_size=make_tokenizer().vocabulary_size)
    task = Pretraining.build(build_encoder(config), make_tokenizer(), max_length=9, mask_decoder=True)
    randomize(task.model)
    save_model(task.model, tmp_path / "model.keras")
    model = load_model(tmp_path / "model.keras")
    row = {name: value % config.vocabulary_size for name, value in HIDDEN.items()}
    np.testing.assert_array_equal(model(row)["masked_tokens"], task.model(row)["masked_tokens"])
    other = task.rebuilt(build_encoder(config))
    assert other.head() == {"next_sentence": False, "mask_decoder": True}
    assert {layer.name for layer in task.encoder.layers} >= {"token_states", "block_1"}
    with pytest.raises(ValueError, match="has no name for the weight 'mask_decoder_positions/embeddings'"):
        to_hugging_face(task, tmp_path / "theirs")
    assert family_of(config, None, pooler=False).name == "deberta-v2"


def test_prompts_do_not_move_predictions_and_a_generator_has_it():
    config = dataclasses.replace(CONFIG, vocabulary_size=make_tokenizer().vocabulary_size, dropout=0.0)
    task = Pretraining.build(build_encoder(config), make_tokenizer(), max_length=5, mask_decoder=True)
    task.adapt(Prompt(tokens=4))
    row = {"token_ids": np.array([[5, 6, 7]], "int32"), "padding_mask": np.ones((1, 3), "int32")}
    states = task.model.get_layer("mask_decoder_states")
    read = keras.Model(task.model.input, states.output)
    assert read({**row, "mask_positions": np.array([[1]], "int32")}).shape == (1, 3, 8)
    discriminator = build_replaced_tokens(build_encoder(CONFIG, pooler=False))
    joint = build_joint(discriminator, Generator(size=0.5), mask_decoder=True)
    assert joint.get_layer("generator").get_layer(POSITIONS).embeddings.shape == (9, 4)
    assert not any(layer.name == POSITIONS for layer in discriminator.layers)


@pytest.mark.parametrize("variant", [None, DeBERTa(absolute_positions=True)])
def test_other_graphs_have_none(variant):
    with pytest.raises(ValueError, match="must have the variant 'deberta' without absolute_positions"):
        build(variant=variant)
