"""Which tokens are global under which head, and that no head changes another's."""

import numpy as np
import pytest

from keras_bert.families.longformer.settings import Longformer
from keras_bert.models.encoder import build_encoder, config_of, encoder_of
from keras_bert.models.global_tokens import global_tokens_of, initialize_global_projections, with_global_tokens
from keras_bert.models.pretraining import build_pretraining
from keras_bert.models.saving import load_model, save_model
from keras_bert.tasks.classification import build_classifier
from keras_bert.tasks.embedding import build_embedder
from keras_bert.tasks.question_answering import QuestionAnswering, build_span_classifier, separator_of
from keras_bert.tasks.regression import build_regressor
from keras_bert.tasks.token_classification import build_tagger
from tests.keras_bert.interop.checkpoints import make_tokenizer
from tests.keras_bert.models.test_encoder import randomize
from tests.keras_bert.tiny import tiny_config

CONFIG = tiny_config(max_length=30, intermediate_size=6, num_segments=1, variant=Longformer(windows=(2, 4)))
BUILDERS = {
    "classes": (lambda encoder: build_classifier(encoder, 2, pooling="mean"), "first"),
    "number": (lambda encoder: build_regressor(encoder), "first"),
    "answers": (lambda encoder: build_span_classifier(encoder, separator=3, question_tokens=5), "question"),
    "tags": (lambda encoder: build_tagger(encoder, 2), "none"),
    "vector": (build_embedder, "none"),
    "masked tokens": (lambda encoder: build_pretraining(encoder, next_sentence=False), "none"),
}
INPUTS = {"token_ids": np.array([[1, 5, 6, 3, *range(4, 14)]], "int32"), "padding_mask": np.ones((1, 14), "int32")}


@pytest.fixture(scope="module")
def encoder():
    model = build_encoder(CONFIG)
    randomize(model)
    return model


def answer(model):
    return np.asarray(model(INPUTS)["sequence_output"])


@pytest.mark.parametrize("head", BUILDERS)
def test_the_head_says_which_tokens_are_global(encoder, head):
    before = answer(encoder)
    # A head of another task was on the encoder before.
    other = encoder_of(build_classifier(encoder, 2))
    builder, kind = BUILDERS[head]
    model = builder(other)
    assert global_tokens_of(model).kind == kind
    assert np.array_equal(answer(encoder_of(model)), before) == (kind == "none")
    # Nobody else's answers change, and the weights are shared.
    np.testing.assert_array_equal(answer(encoder), before)
    assert config_of(model) == CONFIG
    assert model.get_layer("block_1") is encoder.get_layer("block_1")


@pytest.mark.parametrize("kind", ["none", "first", "question"])
def test_who_hears_of_the_last_token(encoder, kind):
    """Within two layers, of the first four tokens those alone that are global: with one, token 0."""
    model = with_global_tokens(encoder, kind, most=9, separator=3)
    other = {**INPUTS, "token_ids": INPUTS["token_ids"].copy()}
    other["token_ids"][0, 13] = 19
    changed = np.flatnonzero((answer(model) != np.asarray(model(other)["sequence_output"])).any(axis=(0, 2)))
    near = changed[changed > 3].tolist()
    if kind == "none":
        assert changed.tolist() == [10, 11, 12, 13]
    else:  # what is global hears of it in the first layer, and all others of that in the second
        assert set(near) == set(range(4, 14))
        assert set(range({"first": 1, "question": 3}[kind])) <= set(changed.tolist())


def test_a_saved_model_keeps_them(encoder, tmp_path):
    model = build_span_classifier(encoder, separator=3, question_tokens=5)
    save_model(model, tmp_path / "model.keras")
    loaded = load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded(INPUTS), model(INPUTS))
    chosen = global_tokens_of(loaded)
    assert (chosen.kind, chosen.most, separator_of(loaded)) == ("question", 5, 3)


def test_they_begin_with_the_projections_of_all_others_and_questions_have_a_length():
    model = build_encoder(CONFIG)
    initialize_global_projections(model)
    for block in ("block_0", "block_1"):
        attention = model.get_layer(block).attention
        for part in ("query", "key", "value"):
            np.testing.assert_array_equal(getattr(attention, f"global_{part}").kernel, getattr(attention, part).kernel)
    model = build_span_classifier(build_encoder(CONFIG), separator=3, question_tokens=5)
    tokenizer = make_tokenizer([str(number) for number in range(20)])
    with pytest.raises(ValueError, match=r"QuestionAnswering.max_query_length must be at most 4, .*, got 5"):
        QuestionAnswering(model, tokenizer, max_length=20, max_query_length=5, stride=2)
    assert QuestionAnswering(model, tokenizer, max_length=20, max_query_length=4, stride=2).max_query_length == 4
