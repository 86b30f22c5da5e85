import keras
import numpy as np
import pytest

from keras_bert.core.losses import IGNORED
from keras_bert.tasks.classification import build_classifier
from keras_bert.tasks.replaced_tokens import ReplacedTokens
from tests.keras_bert.tasks.plain_tokenizer import PlainTokenizer
from tests.keras_bert.tasks.test_token_classification import FakeTokenizer
from tests.keras_bert.tasks.tiny import make_encoder


class OffsetTokenizer(FakeTokenizer):
    encode = PlainTokenizer.encode

    def tokenize(self, texts):
        return super().tokenize(texts).rows


TEXTS = ["Anna met Bob", "Bob in  Paris, met"]


def make_task(**settings):
    encoder = make_encoder(num_layers=1, vocabulary_size=OffsetTokenizer.vocabulary_size)
    return ReplacedTokens.build(encoder, OffsetTokenizer(), **{"max_length": 20, **settings})


def test_examples_mark_the_pieces_of_a_range_that_are_not_cut():
    features, labels = make_task().examples(TEXTS, [[(5, 8)], [(4, 6), (9, 13)]])
    assert features["token_ids"].shape == labels.shape == (2, 7)
    # [CLS] anna met bob [SEP]; [CLS] bob in paris , met [SEP]
    assert labels.tolist() == [[0, 0, 1, 0, 0, IGNORED, IGNORED], [0, 0, 1, 1, 0, 0, 0]]
    _, half = make_task().examples(["zoe met"], [[(2, 3)]])
    assert half.tolist() == [[0, 0, 0, 1, 0, 0]], "of a word of several pieces the one"
    task = make_task(max_length=4)
    _, labels = task.examples(TEXTS, [[(9, 12)], []])
    assert labels.tolist() == [[0, 0, 0, 0], [0, 0, 0, 0]]
    assert [[piece.text for piece in pieces] for pieces in task.predict(TEXTS)] == [["Anna", "met"], ["Bob", "in"]]


def test_pieces_with_their_places_and_probabilities_and_bad_arguments():
    task = make_task()
    answers = task.predict(TEXTS)
    assert [[piece[:3] for piece in pieces] for pieces in answers] == [
        [("Anna", 0, 4), ("met", 5, 8), ("Bob", 9, 12)],
        [("Bob", 0, 3), ("in", 4, 6), ("Paris", 8, 13), (",", 13, 14), ("met", 15, 18)],
    ]
    features = task.encode(TEXTS[1:])
    logits = np.asarray(task.model({name: features[name] for name in task.model.input}))[0, 1:-1]
    np.testing.assert_allclose([piece.probability for piece in answers[1]], 1 / (1 + np.exp(-logits)), rtol=1e-5)
    with pytest.raises(ValueError, match=r"replaced must be as many as texts \(2\), got 1"):
        task.examples(TEXTS, [[]])
    rule = r"ReplacedTokens\.replaced\[1\]\[0\] must be a range within the text's 18 characters"
    for wrong in ((3, 3), (-1, 2), (4, 19)):
        with pytest.raises(ValueError, match=rule + rf", got \({wrong[0]}, {wrong[1]}\)"):
            task.examples(TEXTS, [[], [wrong]])
    model = build_classifier(task.encoder, 2, pooling="mean")
    with pytest.raises(
        ValueError, match=r"ReplacedTokens\.model must have the layer replaced_token_classifier, got 'class"
    ):
        ReplacedTokens(model, OffsetTokenizer(), max_length=20)


@pytest.mark.long
def test_fit_learns_what_does_not_belong():
    keras.utils.set_random_seed(0)
    task = make_task()
    task.compile(keras.optimizers.Adam(5e-3))
    texts = ["Anna met Bob", "Anna in Bob", "Bob met Anna", "Bob in Anna"] * 8
    x, y = task.examples(texts, [[], [(5, 7)], [], [(4, 6)]] * 8)
    history = task.model.fit(x, y, epochs=20, verbose=0).history
    assert history["loss"][-1] < 0.3 * history["loss"][0]
    assert history["accuracy"][-1] > 0.95
    # The mean is over tokens, not over padding: what Keras says is what one can add up.
    logits, labelled = np.asarray(task.model(x)), y != IGNORED
    losses = np.logaddexp(0, np.where(y == 1, -logits, logits))
    assert task.model.evaluate(x, y, verbose=0, batch_size=32)[0] == pytest.approx(losses[labelled].mean(), rel=1e-4)
    probabilities = {piece.text: piece.probability for piece in task.predict(["Anna in Bob"])[0]}
    assert probabilities["in"] > 0.5 > max(probabilities["Anna"], probabilities["Bob"])
