import keras
import numpy as np
import pytest

from keras_bert.core.losses import IGNORED
from keras_bert.options.pretraining import Masking
from keras_bert.tasks.pretraining import Pretraining
from tests.keras_bert.tasks.plain_tokenizer import PlainTokenizer
from tests.keras_bert.tasks.tiny import WORDS, make_encoder, make_tokenizer

TEXTS = ["a good film .", "very bad"]
MASKING = Masking(rate=0.5, max_predictions=3)


def make_task(**settings):
    return Pretraining.build(make_encoder(num_layers=1), make_tokenizer(), max_length=20, **settings)


def test_examples_hide_tokens_and_keep_them_as_labels():
    inputs, labels = make_task().examples(TEXTS * 10, masking=MASKING, seed=1)
    plain = make_task().encode(TEXTS * 10)["token_ids"]
    hidden = labels["masked_tokens"] != IGNORED
    originals = np.take_along_axis(plain, inputs["mask_positions"], axis=1)
    assert hidden.sum(axis=1).tolist() == [2, 1] * 10
    np.testing.assert_array_equal(labels["masked_tokens"][hidden], originals[hidden])
    assert (originals[hidden] >= 5).all()
    assert (inputs["token_ids"] != plain).any()
    again, other = (make_task().examples(TEXTS * 10, masking=MASKING, seed=seed)[0] for seed in (1, 2))
    np.testing.assert_array_equal(inputs["token_ids"], again["token_ids"])
    assert (inputs["token_ids"] != other["token_ids"]).any()


@pytest.mark.parametrize("strategy", ["whole_words", "spans"])
def test_examples_hide_whole_words(strategy):
    tokenizer = PlainTokenizer(["un", "##believ", "##able", "film", "good", "bad"])
    # Of eight pieces four are hidden: one of the long words, and one of the short ones.
    texts = ["un ##believ ##able film un ##believ ##able good"] * 50
    task = Pretraining.build(make_encoder(vocabulary_size=tokenizer.vocabulary_size), tokenizer, max_length=20)
    masking = Masking(strategy=strategy, rate=0.5, max_predictions=6)
    inputs, labels = task.examples(texts, masking=masking, seed=2)
    hidden = np.zeros_like(inputs["token_ids"], bool)
    rows, slots = np.nonzero(labels["masked_tokens"] != IGNORED)
    hidden[rows, inputs["mask_positions"][rows, slots]] = True
    for word in ([1, 2, 3], [5, 6, 7]):
        assert 5 < hidden[:, word].all(axis=1).sum() < 45
        np.testing.assert_array_equal(hidden[:, word].any(axis=1), hidden[:, word].all(axis=1))
    assert not hidden[:, [0, 9]].any()
    np.testing.assert_array_equal(labels["masked_tokens"][rows, slots], task.encode(texts)["token_ids"][hidden])


@pytest.mark.long
@pytest.mark.parametrize("next_sentence", [False, True])
@pytest.mark.filterwarnings("ignore:Gradients do not exist")
def test_fit_learns_to_fill_blanks(next_sentence):
    keras.utils.set_random_seed(0)
    task = make_task(next_sentence=next_sentence)
    task.compile(keras.optimizers.Adam(5e-3))
    x, y = task.examples(TEXTS * 40, masking=MASKING)
    history = task.model.fit(x, y, epochs=20, verbose=0).history
    assert history["loss"][-1] < 0.5 * history["loss"][0]
    filled = task.predict(["a [MASK] film .", "[MASK] [MASK]", "a good film [MASK]"], top_k=2)
    assert [len(blanks) for blanks in filled] == [1, 2, 1]
    assert {fillings[0].piece for blanks in filled for fillings in blanks} <= set(WORDS)
    assert filled[0][0][0].piece == "good"
    assert filled[2][0][0].piece == "."
    for fillings in (fillings for blanks in filled for fillings in blanks):
        assert 1 >= fillings[0].probability >= fillings[1].probability >= 0


def test_bad_arguments():
    with pytest.raises(ValueError, match=r"Pretraining.texts\[1\] must hold \[MASK\], got 'film'"):
        make_task().predict(["[MASK]", "film"])
    with pytest.raises(ValueError, match=r"Pretraining.texts\[0\] must have at most 20 tokens, got 33"):
        make_task().predict(["[MASK]" + " film" * 30])
    with pytest.raises(ValueError, match=r"Pretraining\.top_k must be at least 1, got 0"):
        make_task().predict(["[MASK]"], top_k=0)
