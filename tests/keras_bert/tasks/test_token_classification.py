import itertools
import re

import keras
import numpy as np
import pytest

from keras_bert.core.config import EncoderConfig
from keras_bert.core.losses import IGNORED
from keras_bert.models.encoder import build_encoder
from keras_bert.tasks.classification import build_classifier
from keras_bert.tasks.token_classification import TokenClassification, build_tagger
from tests.keras_bert.tasks.plain_tokenizer import Special
from tests.keras_bert.tiny import EAGER

LETTERS = "abcdefghijklmnopqrstuvwxyzé"
NAMES = ["anna", "lee", "bob", "paris", "new", "york", "met", "in", "and"]
PIECES = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    *LETTERS,
    *(f"##{letter}" for letter in LETTERS),
    *NAMES,
    *",.'",
]
LABELS = ["O", "B-person", "I-person", "B-place", "I-place"]
SENTENCES = [
    ("Anna Lee met Bob in Paris .", "B-person I-person O B-person O B-place O"),
    ("Bob Lee and Anna met in New York", "B-person I-person O B-person O O B-place I-place"),
    ("in Paris , Bob met Anna Lee", "O B-place O B-person O B-person I-person"),
    ("New York and Paris", "B-place I-place O B-place"),
    ("Zoé met Bob", "B-person O B-person"),
    ("Anna in New York , Bob in Paris .", "B-person O B-place I-place O B-person O B-place O"),
    ("π , 🙂 .", "O O O O"),
]


class Ragged:
    def __init__(self, rows):
        self.rows = rows
        self.flat_values = np.array(list(itertools.chain(*rows)), "int32")

    def row_lengths(self):
        return np.array([len(row) for row in self.rows], "int64")


class FakeTokenizer(Special):
    """The real one's answers for plain text and these pieces, without TensorFlow."""

    vocabulary = tuple(PIECES)
    vocabulary_size = len(PIECES)

    def tokenize(self, texts):
        assert texts, "the real one refuses this"
        return self.tokenize_with_offsets(texts)[0]

    def tokenize_with_offsets(self, texts):
        pieces = [list(self._pieces(text)) for text in texts]
        return tuple(Ragged([[piece[part] for piece in row] for row in pieces]) for part in range(3))

    def _pieces(self, text):
        for match in re.finditer(r"\w+|[^\w\s\x00-\x1f]", text.lower()):
            start = match.start()
            if match.group() in PIECES:
                yield PIECES.index(match.group()), start, match.end()
            elif set(match.group()) <= set(LETTERS):
                for place, letter in enumerate(match.group()):
                    yield PIECES.index(f"##{letter}" if place else letter), start + place, start + place + 1
            else:
                yield self.unknown_id, start, match.end()


def make_encoder(**changes):
    settings = {"hidden_size": 32, "num_layers": 1, "num_heads": 2, "intermediate_size": 64, "max_length": 24}
    return build_encoder(
        EncoderConfig(vocabulary_size=len(PIECES), dropout=0, attention_dropout=0, **settings, **changes)
    )


def make_task(labels=LABELS, max_length=16, tokenizer=None):
    keras.utils.set_random_seed(0)
    tokenizer = tokenizer or FakeTokenizer()
    return TokenClassification.build(make_encoder(), tokenizer, labels=labels, max_length=max_length, dropout=0)


def sentences():
    return [words.split() for words, _ in SENTENCES], [tags.split() for _, tags in SENTENCES]


@pytest.fixture(scope="module")
def learnt():
    task = make_task(max_length=9)
    task.compile(keras.optimizers.Adam(2e-2))
    task.model.fit(*task.examples(*sentences()), batch_size=32, epochs=25, verbose=0)
    return task


def tag_by_table(task, table):
    """Puts a rule in the model's place: a piece -> the logits' largest place."""

    def forward(features, batch_size=32):
        assert features["token_ids"].shape[1] <= task.max_length
        return list(np.eye(len(task.labels))[table[features["token_ids"]]] * 3)

    task.forward = forward
    return task


def test_logits_against_numpy():
    encoder = make_encoder()
    model = build_tagger(encoder, 3)
    inputs = make_task().examples(*sentences())[0]
    kernel, bias = (np.asarray(weight) for weight in model.get_layer("classifier").weights)
    expected = np.asarray(encoder(inputs)["sequence_output"]) @ kernel + bias
    np.testing.assert_allclose(np.asarray(model(inputs)), expected, atol=1e-5)
    shared = {id(weight) for weight in model.weights if not weight.path.startswith("classifier")}
    assert shared <= {id(weight) for weight in encoder.weights}
    with pytest.raises(ValueError, match="num_labels must be at least 2, got 1"):
        build_tagger(encoder, 1)


def test_examples_label_first_pieces_of_all_parts():
    words, tags = [["Zoé", "met", "Bob's", "\x00", "π"], [], ["Paris"]], [LABELS, [], ["B-place"]]
    features, y = make_task().examples(words, tags)
    pieces = [[PIECES[number] for number in row] for row in features["token_ids"]]
    assert pieces[0] == ["[CLS]", "z", "##o", "##é", "met", "bob", "'", "s", "[UNK]", "[SEP]"]
    assert y.tolist() == [[-1, 0, -1, -1, 1, 2, -1, -1, 4, -1], [-1, 3, *[-1] * 8]]
    assert features["padding_mask"].tolist() == [[1] * 10, [1, 1, 1, *[0] * 7]]
    assert y.dtype == "int32"
    words = [["zoé", "met", "anna", "abcdefgh", "in", "paris"], ["bob"]]
    tags = [["B-person", "O", "I-person", "I-place", "O", "B-place"], ["B-person"]]
    features, y = make_task(max_length=6).examples(words, tags)
    assert features["token_ids"].shape == y.shape == (5, 6)
    assert [LABELS[number] for number in y[y != IGNORED]] == [*tags[0], *tags[1]]


def test_loss_and_accuracy_are_means_over_the_tagged_pieces():
    task = make_task()
    task.compile(keras.optimizers.SGD(0.1), **EAGER)
    inputs, y = task.examples(*sentences())
    y[0, 2:] = IGNORED
    logits = np.asarray(task.model(inputs), "float64")
    labelled = y != IGNORED
    entropy = np.log(np.exp(logits).sum(-1)) - np.take_along_axis(logits, np.maximum(y, 0)[..., None], -1)[..., 0]
    right = (logits.argmax(-1) == y)[labelled].mean()
    assert float(task.loss()(y, logits)) == pytest.approx(entropy[labelled].mean(), rel=1e-5)
    metrics = task.model.evaluate(inputs, y, batch_size=len(y), verbose=0)
    assert metrics == pytest.approx([entropy[labelled].mean(), right], rel=1e-5)
    parted = task.model.evaluate(inputs, y, batch_size=2, verbose=0)
    assert parted[1] == pytest.approx(right)
    before = task.model.get_weights()
    assert float(task.model.train_on_batch(inputs, np.full_like(y, IGNORED))[0]) == 0
    for old, new in zip(before, task.model.get_weights(), strict=True):
        np.testing.assert_array_equal(old, new)


def test_learns_and_finds_entities_whatever_the_batches(learnt):
    words, tags = sentences()
    assert learnt.predict_tags(words) == tags
    text = " Anna  LEE met Bob,\nin New York."
    entities = learnt.predict([text, "", "and"])
    assert [(entity.label, entity.text) for entity in entities[0]] == [
        ("person", "Anna  LEE"),
        ("person", "Bob"),
        ("place", "New York"),
    ]
    assert entities[1:] == [[], []]
    for entity in entities[0]:
        assert text[entity.start : entity.end] == entity.text
        assert 0.8 < entity.probability <= 1
    words, _ = sentences()
    texts = [" ".join(sentence) for sentence in words]
    for one, many in zip(learnt.predict(texts, batch_size=1), learnt.predict(texts), strict=True):
        assert [(entity.text, entity.label) for entity in one] == [(entity.text, entity.label) for entity in many]
        for a, b in zip(one, many, strict=True):
            assert a.probability == pytest.approx(b.probability, abs=1e-5)


def test_an_entity_across_rows(learnt):
    text = "Paris and Bob met Anna in Paris and New York and Bob"
    assert [entity.text for entity in learnt.predict([text])[0]] == ["Paris", "Bob", "Anna", "Paris", "New York", "Bob"]
    table = np.zeros(len(PIECES), "int64")
    table[PIECES.index("lee")] = 1
    table[[PIECES.index("york"), PIECES.index(".")]] = 2
    task = tag_by_table(make_task(max_length=6), table)
    long = "é and Lee " + "York. " * 9 + "in"
    (entity,) = task.predict([long])[0]
    assert (entity.label, entity.text) == ("person", long[6:-3])
    assert entity.probability == pytest.approx(np.exp(3) / (np.exp(3) + 4))


@pytest.mark.parametrize("max_length", [3, 4, 7, 16])
def test_every_word_gets_the_tag_of_its_first_piece(max_length):
    rng = np.random.default_rng(max_length)
    table = rng.integers(0, len(LABELS), len(PIECES))
    task = tag_by_table(make_task(max_length=max_length), table)
    words = [
        rng.choice([*NAMES, "zoé", "abcde", "\x01", "π", "bob's"], rng.integers(0, 20)).tolist() for _ in range(30)
    ]
    first = task.tokenizer.tokenize([word for sentence in words for word in sentence]).rows
    expected = iter([LABELS[table[pieces[0]]] if pieces else "O" for pieces in first])
    assert task.predict_tags(words) == [[next(expected) for _ in sentence] for sentence in words]


@pytest.mark.parametrize(
    ("words", "tags", "error", "message"),
    [
        ([], [], ValueError, "words must hold at least one sentence, got none"),
        ([[]], [[]], ValueError, "words must hold a word that has tokens, got 1 sentences without one"),
        (["met Bob"], [["O"]], TypeError, r"words\[0\] must be a list of strings, got 'met Bob'"),
        ([["a"], ["b", 3]], [["O"], ["O", "O"]], TypeError, r"words\[1\]\[1\] must be a string, got 3"),
        ([["a"]], [[0]], TypeError, r"tags\[0\]\[0\] must be a string, got 0"),
        ([["a"]], [["O"], ["O"]], ValueError, r"tags must be as many as words \(1\), got 2"),
        ([["a"], ["b"]], [["O"], []], ValueError, r"tags\[1\] must be as many as words\[1\] \(1\), got 0"),
        ([["a", "b"]], [["O", "B-persn"]], ValueError, r"tags\[0\]\[1\] .* got 'B-persn'; the nearest is 'B-person'"),
    ],
)
def test_bad_examples(words, tags, error, message):
    with pytest.raises(error, match=message):
        make_task().examples(words, tags)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["O", "B-x", "I_x"], "TokenClassification.labels: a tag must be O, .* got 'I_x'"),
        (["O", "B-x", "L-x"], "TokenClassification.labels: a tag must be O, .* got 'L-x'"),
        (["B-x", "I-x"], r"TokenClassification.labels must hold O, got \['B-x', 'I-x'\]"),
        (["O", "B-x", "B-x"], "labels must differ from one another"),
    ],
)
def test_bad_labels(labels, message):
    with pytest.raises(ValueError, match=message):
        make_task(labels)


def test_labels_and_model_must_fit():
    with pytest.raises(ValueError, match=r"labels must be as many as the model's outputs \(3\), got 5"):
        TokenClassification(build_tagger(make_encoder(), 3), FakeTokenizer(), labels=LABELS, max_length=8)
    with pytest.raises(ValueError, match=r"model must give logits \(batch, length, labels\), got \(None, 5\)"):
        TokenClassification(build_classifier(make_encoder(), 5), FakeTokenizer(), labels=LABELS, max_length=8)
    with pytest.raises(TypeError, match=r"labels\[1\] must be a string, got 1"):
        TokenClassification(build_tagger(make_encoder(), 2), FakeTokenizer(), labels=["O", 1], max_length=8)


def test_parts_of_speech_and_empty_texts_have_no_entities():
    task = make_task(labels=["N", "O", "S", "V", "."])
    assert set(task.predict_tags([["Bob", "met", "."]])[0]) <= set(task.labels)
    with pytest.raises(ValueError, match="labels must be entity tags, as O and B-person, for predict"):
        task.predict(["Bob met ."])
    task = make_task()
    with pytest.raises(ValueError, match="words must hold at least one sentence, got none"):
        task.predict_tags([])
    with pytest.raises(ValueError, match="batch_size must be at least 1, got 0"):
        task.predict(["Bob"], batch_size=0)
    assert task.predict(["", "\x01"]) == [[], []]
    assert task.predict_tags([[], []]) == [[], []]


def test_the_fake_tokenizer_is_like_the_real_one():
    pytest.importorskip("tensorflow_text")
    from keras_bert.tokenizers.tokenizer import Tokenizer

    texts = [" ".join(words).lower() for words in sentences()[0]] + ["", "abc's", "\x01", "π."]
    real = Tokenizer(PIECES, lowercase=False)
    for fake, actual in zip(
        FakeTokenizer().tokenize_with_offsets(texts), real.tokenize_with_offsets(texts), strict=True
    ):
        assert fake.rows == actual.to_list()


def test_saves_loads_and_counts_characters(tmp_path):
    pytest.importorskip("tensorflow_text")
    from keras_bert.tasks.registry import load
    from keras_bert.tokenizers.tokenizer import Tokenizer

    task = make_task(tokenizer=Tokenizer(PIECES, lowercase=True))
    task.save(tmp_path / "task")
    loaded = load(tmp_path / "task")
    assert isinstance(loaded, TokenClassification)
    assert loaded.settings() == {"labels": LABELS, "max_length": 16}
    texts = ["🙂, ZOÉ met Anna Lee in\u2003Paris…", "Zoe\u0301, \x01Bob", "日本"]
    assert loaded.predict(texts) == task.predict(texts)
    table = np.zeros(len(PIECES), "int64")
    table[[PIECES.index(piece) for piece in ("z", "anna", "bob", "paris")]] = 1
    table[PIECES.index("lee")] = 2
    entities = tag_by_table(loaded, table).predict(texts)
    assert [[entity.text for entity in row] for row in entities] == [
        ["ZOÉ", "Anna Lee", "Paris"],
        ["Zoe\u0301", "Bob"],
        [],
    ]
    assert all(text[a.start : a.end] == a.text for text, row in zip(texts, entities, strict=True) for a in row)


class Unmarked(FakeTokenizer):
    """As bytes are: what stands first in a text bears no mark of a word's start."""

    def word_marks(self):
        return super().word_marks() | np.isin(self.vocabulary, ["anna", "bob"])


def test_the_first_word_of_a_text_is_one_without_a_mark():
    table = np.zeros(len(PIECES), "int64")
    table[[PIECES.index(piece) for piece in ("anna", "bob")]] = 1
    entities = tag_by_table(make_task(tokenizer=Unmarked()), table).predict(["anna met", "bob", "in paris"])
    assert [[(entity.text, entity.start) for entity in row] for row in entities] == [[("anna", 0)], [("bob", 0)], []]
