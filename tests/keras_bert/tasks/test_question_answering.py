import re
from types import SimpleNamespace

import keras
import numpy as np
import pytest

from keras_bert.core.losses import correct_spans, span_loss
from keras_bert.models.encoder import build_encoder, encoder_of
from keras_bert.tasks.answer_spans import Answer, Spans, answers_of, best_of_rows, best_spans
from keras_bert.tasks.answer_windows import TokenizedTexts, cut_windows, widest_windows
from keras_bert.tasks.question_answering import QuestionAnswering, build_span_classifier
from tests.keras_bert.tasks.plain_tokenizer import Special
from tests.keras_bert.tiny import EAGER, tiny_config

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
WORDS = "anna bob carl dora emil paris rome oslo lima kyiv lives in now the who where ? . and then".split()


class Tokenizer(Special):
    """Words in pieces of three letters; offsets in characters, as ragged tensors hold them."""

    def __init__(self, words):
        pieces = sorted({text for word in words for _, _, text in self._cut(word)})
        self.vocabulary = (*SPECIAL, *pieces)
        self.vocabulary_size = len(self.vocabulary)
        self._ids = {piece: number for number, piece in enumerate(self.vocabulary)}

    def _cut(self, text):
        for word in re.finditer(r"\w+|[^\w\s]", text.lower()):
            for start in range(word.start(), word.end(), 3):
                end = min(start + 3, word.end())
                yield start, end, ("##" if start > word.start() else "") + text[start:end].lower()

    def tokenize_with_offsets(self, texts):
        rows = [list(self._cut(text)) for text in texts]
        splits = np.cumsum([0, *map(len, rows)])
        flat = [piece for row in rows for piece in row]
        columns = (
            [self._ids.get(text, self.unknown_id) for _, _, text in flat],
            [start for start, _, _ in flat],
            [end for _, end, _ in flat],
        )
        return tuple(SimpleNamespace(flat_values=np.array(values, "int32"), row_splits=splits) for values in columns)


TOKENIZER = Tokenizer(WORDS)
SETTINGS = {"max_length": 16, "stride": 4, "max_query_length": 5, "max_answer_length": 4}
QUESTION = "where lives anna?"  # whe ##re liv ##es ann ##a ?
CONTEXT = "bob lives in Oslo. and then anna lives in Rome now. the"


def make_encoder(**changes):
    sizes = {"vocabulary_size": TOKENIZER.vocabulary_size, "max_length": 48, "hidden_size": 32, "intermediate_size": 64}
    settings = {"num_layers": 1, "dropout": 0.0, "attention_dropout": 0.0, "initializer_range": 0.2}
    return build_encoder(tiny_config(**sizes | settings | changes), pooler=False)


@pytest.fixture
def task():
    keras.utils.set_random_seed(0)
    return QuestionAnswering.build(make_encoder(), TOKENIZER, **SETTINGS)


def read(features, row):
    return [TOKENIZER.vocabulary[token] for token in features["token_ids"][row]]


def test_model():
    encoder = make_encoder()
    model = build_span_classifier(encoder)
    features = {
        "token_ids": np.array([[2, 5, 6, 3, 7, 8, 3, 0, 0]], "int32"),
        "segment_ids": np.array([[0, 0, 0, 0, 1, 1, 1, 0, 0]], "int32"),
        "padding_mask": np.array([[1, 1, 1, 1, 1, 1, 1, 0, 0]], "int32"),
    }
    dense = model.get_layer("span_classifier")
    states = np.asarray(encoder(features)["sequence_output"])
    expected = states @ np.asarray(dense.kernel) + np.asarray(dense.bias)
    logits = np.asarray(model(features))
    np.testing.assert_allclose(logits[:, :7], expected[:, :7], atol=1e-5)
    np.testing.assert_allclose(logits[:, 7:], expected[:, 7:] - 120, atol=1e-4)
    assert {id(weight) for weight in encoder_of(model).weights} == {id(weight) for weight in encoder.weights}


def test_windows(task):
    features, y = task.examples([QUESTION], [CONTEXT], [("Rome", 42)])
    assert [read(features, row) for row in range(3)] == [
        "[CLS] whe ##re liv ##es ann [SEP] bob liv ##es in osl ##o . and [SEP]".split(),
        "[CLS] whe ##re liv ##es ann [SEP] osl ##o . and the ##n ann ##a [SEP]".split(),
        "[CLS] whe ##re liv ##es ann [SEP] the ##n ann ##a liv ##es in rom [SEP]".split(),
    ]
    assert read(features, 3) == "[CLS] whe ##re liv ##es ann [SEP] liv ##es in rom ##e now . the [SEP]".split()
    assert y.tolist() == [[0, 0], [0, 0], [0, 0], [10, 11]]  # the third window holds the first half of the answer only
    assert features["segment_ids"].tolist() == [[0] * 7 + [1] * 9] * 4
    assert {array.dtype for array in (*features.values(), y)} == {np.dtype("int32")}


def test_short_rows_are_padded_and_answers_that_fit_in_no_window_teach_nothing(task):
    features, y = task.examples(["who?", QUESTION], ["Bob.", ""], [("Bob", 0), None])
    assert read(features, 0) == ["[CLS]", "who", "?", "[SEP]", "bob", ".", "[SEP]", "[PAD]"]
    assert read(features, 1) == ["[CLS]", "whe", "##re", "liv", "##es", "ann", "[SEP]", "[SEP]"]
    assert features["segment_ids"].tolist() == [[0, 0, 0, 0, 1, 1, 1, 0], [0, 0, 0, 0, 0, 0, 0, 1]]
    assert features["padding_mask"].tolist() == [[1] * 7 + [0], [1] * 8]
    assert y.tolist() == [[4, 4], [0, 0]]
    long = CONTEXT[4:50]
    features, y = task.examples([QUESTION, "who?"], [CONTEXT, "Bob."], [(long, 4), ("Bob", 0)])
    assert read(features, 0) == ["[CLS]", "who", "?", "[SEP]", "bob", ".", "[SEP]"]
    assert y.tolist() == [[4, 4]]
    with pytest.raises(
        ValueError, match=r"^answers must stand whole in a window of 16 tokens, got none of 1 that does$"
    ):
        task.examples([QUESTION], [CONTEXT], [(long, 4)])


@pytest.mark.parametrize(("text", "start", "tokens"), [("Oslo", 3, [3, 4]), ("slo", 4, [3, 4]), ("o", 6, [4, 4])])
def test_a_cut_piece_is_taken_whole(task, text, start, tokens):
    _, y = task.examples([""], ["in Oslo."], [(text, start)])
    assert y.tolist() == [tokens]


def test_windows_against_a_plain_loop():
    """Windows and widest windows as the definition reads, piece by piece."""
    rng = np.random.default_rng(0)
    for stride in range(1, 9):
        lengths = rng.integers(0, 60, 20)
        positions = rng.integers(0, 8, 20)
        texts = [" ".join(["in"] * length) for length in lengths]
        questions, contexts = (
            TokenizedTexts.of(TOKENIZER, rows) for rows in ([" ".join(["?"] * n) for n in positions], texts)
        )
        windows = cut_windows(questions, contexts, max_length=18, stride=stride, max_query_length=6, special=3)
        widest = widest_windows(windows, len(contexts.ids))
        expected, best = [], []
        for row, length in enumerate(lengths):
            room = 18 - 3 - min(positions[row], 6)
            spans = [(0, min(length, room))]
            while sum(spans[-1]) < length:
                spans.append((spans[-1][0] + stride, min(length - spans[-1][0] - stride, room)))
            for piece in range(length):
                shown = [
                    min(piece - first, first + count - 1 - piece) + 0.01 * count
                    if first <= piece < first + count
                    else -1
                    for first, count in spans
                ]
                best.append(len(expected) + int(np.argmax(shown)))
            expected += [(row, min(positions[row], 6), contexts.splits[row] + first, count) for first, count in spans]
        got = zip(windows.rows, windows.question_lengths, windows.firsts, windows.lengths, strict=True)
        assert list(got) == expected
        assert widest[:-1].tolist() == best


def test_best_spans_against_a_plain_loop():
    rng = np.random.default_rng(1)
    texts = [" ".join(["in"] * length) for length in (0, 3, 30, 1, 47)]
    questions, contexts = (TokenizedTexts.of(TOKENIZER, rows) for rows in (["who?"] * 5, texts))
    windows = cut_windows(questions, contexts, max_length=20, stride=5, max_query_length=4, special=3)
    widest = widest_windows(windows, len(contexts.ids))
    logits = rng.normal(scale=3, size=(len(windows.rows), 20, 2)).astype("float32")
    parts = [
        best_spans(logits[part], windows.part(part), widest, 4) for part in (slice(0, 3), slice(3, 7), slice(7, None))
    ]
    spans = best_of_rows(parts, windows.rows)
    for row in range(5):
        best, nulls = {}, []
        for window in np.flatnonzero(windows.rows == row):
            nulls.append(logits[window, 0, 0] + logits[window, 0, 1])
            for start in range(windows.lengths[window]):
                first = windows.firsts[window] + start
                if widest[first] == window:
                    for end in range(start, min(start + 4, windows.lengths[window])):
                        score = float(logits[window, 4 + start, 0]) + float(logits[window, 4 + end, 1])
                        best[first, windows.firsts[window] + end] = score
        assert spans.null_scores[row] == pytest.approx(min(nulls), abs=1e-5)
        if not best:
            assert spans.scores[row] == spans.totals[row] == -np.inf
            continue
        assert (spans.firsts[row], spans.lasts[row]) == max(best, key=best.get)
        assert spans.scores[row] == pytest.approx(max(best.values()))
        assert spans.totals[row] == pytest.approx(np.log(np.sum(np.exp(list(best.values())))))


def test_loss_and_accuracy():
    logits = np.zeros((2, 5, 2), "float32")
    logits[0, 1, 0] = logits[0, 3, 1] = logits[1, 2] = 2.0
    positions = np.array([[1, 3], [2, 0]])
    right, wrong = np.log(np.exp(2) + 4) - 2, np.log(np.exp(2) + 4)
    np.testing.assert_allclose(span_loss(positions, logits), [right, (right + wrong) / 2], rtol=1e-6)
    assert np.asarray(correct_spans(positions, logits)).tolist() == [1, 0]


def test_padding_changes_nothing(task):
    features, y = task.examples(["who?", QUESTION], ["bob.", CONTEXT], [("bob", 0), ("Rome", 42)])
    task.compile(keras.optimizers.Adam(1e-3), **EAGER)
    figures = task.model.evaluate(features, y, verbose=0, return_dict=True)
    padded = {name: np.pad(array, ((0, 0), (0, 30))) for name, array in features.items()}
    assert task.model.evaluate(padded, y, verbose=0, return_dict=True) == pytest.approx(figures, rel=1e-5)
    logits = np.asarray(task.model(features), "float64")
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    chosen = np.take_along_axis(shares, y[:, None, :], axis=1)[:, 0]
    assert figures["loss"] == pytest.approx(-np.log(chosen).mean(), rel=1e-5)
    assert figures["accuracy"] == np.all(logits.argmax(axis=1) == y, axis=1).mean()


def test_learns_and_answers_across_windows():
    keras.utils.set_random_seed(1)
    people, cities = WORDS[:5], [word.title() for word in WORDS[5:10]]
    questions, contexts, answers = [], [], []
    for turn in range(4):
        homes = dict(zip(people[:4], np.roll(cities[:4], turn), strict=True))
        context = " and then  ".join(f"{name} lives in {city} now." for name, city in homes.items())
        for name, city in [*homes.items(), (people[4], None)]:
            questions.append(f"where lives {name}?")
            contexts.append(context)
            answers.append(None if city is None else (city, context.index(city)))
    settings = {"max_length": 32, "stride": 8, "max_query_length": 9, "max_answer_length": 4}
    task = QuestionAnswering.build(make_encoder(), TOKENIZER, **settings)
    features, y = task.examples(questions, contexts, answers)
    assert len(y) > 2 * len(questions)
    task.compile(keras.optimizers.Adam(5e-3))
    task.model.fit(features, y, epochs=50, batch_size=24, verbose=0)
    predicted = task.predict(questions, contexts, batch_size=16)
    expected = [(text, start, start + len(text)) for text, start in [answer or ("", 0) for answer in answers]]
    assert [(answer.text, answer.start, answer.end) for answer in predicted] == expected
    assert min(answer.probability for answer in predicted) > 0.5
    silent = [answer.null_score_difference for answer in predicted if not answer.text]
    assert min(silent) > 0 > max(answer.null_score_difference for answer in predicted if answer.text)
    task.null_threshold = None
    assert all(answer.text for answer in task.predict(questions, contexts))
    task.null_threshold = -1e6
    assert not any(answer.text for answer in task.predict(questions, contexts))


def test_probabilities_and_empty_contexts(task):
    contexts = ["", "bob", "anna lives in rome now. " * 5]
    empty, one, many = task.predict([QUESTION] * 3, contexts)
    assert empty == Answer("", 0, 0, 1.0, np.inf)
    share = 1 / (1 + np.exp(-one.null_score_difference))  # of no answer, against the only span
    assert one.probability == pytest.approx(1 - share if one.text else share)
    assert 0 < many.probability <= 1
    task.null_threshold = None
    empty, one, many = task.predict([QUESTION] * 3, contexts)
    assert empty == Answer("", 0, 0, 1.0, np.inf)
    assert (one.text, one.probability) == ("bob", pytest.approx(1))
    assert contexts[2][many.start : many.end] == many.text != ""
    assert task.predict(iter([QUESTION] * 3), iter(contexts)) == [empty, one, many]


def test_rows_do_not_depend_on_their_company(task, monkeypatch):
    contexts = [CONTEXT * repeat for repeat in (1, 9, 2, 5)]
    together = task.predict([QUESTION] * 4, contexts)
    for limit, size in (("_WINDOWS_AT_ONCE", 7), ("_SCORED_AT_ONCE", 3)):
        monkeypatch.setattr(f"keras_bert.tasks.question_answering.{limit}", size)
    for alone in (
        task.predict([QUESTION] * 4, contexts, batch_size=3),
        [task.predict([QUESTION], [c])[0] for c in contexts],
    ):
        for answer, other in zip(alone, together, strict=True):
            # Rounding decides which of the equal repeats of the context is best.
            assert (answer.text, (answer.start - other.start) % len(CONTEXT)) == (other.text, 0)
            assert answer.probability == pytest.approx(other.probability, rel=1e-3)


def test_bad_input(task):
    with pytest.raises(TypeError, match=r"contexts\[1\] must be a string, got 1"):
        task.predict(["a", "b"], ["c", 1])
    with pytest.raises(ValueError, match=r"contexts must be as many as questions \(2\), got 1"):
        task.examples(["a", "b"], ["c"], [None] * 2)
    with pytest.raises(ValueError, match=r"answers must be as many as questions \(1\), got 2"):
        task.examples(["a"], ["b"], [None, None])
    for answer in (("Rome", 41), ("rome", 42), ("Rome", -1), ("", 3), ("now. the end", 47)):
        with pytest.raises(
            ValueError, match=rf"answers\[1\] must stand in its context at {answer[1]}, got '{answer[0]}'"
        ):
            task.examples([QUESTION] * 2, [CONTEXT] * 2, [None, answer])
    for answer in ("Rome", ("Rome", "42"), {"text": "Rome", "answer_start": 42}, (7, 42), ("Rome",)):
        with pytest.raises(TypeError, match=r"answers\[0\] must be \(text, first character\) or None, got"):
            task.examples([QUESTION], [CONTEXT], [answer])
    with pytest.raises(ValueError, match=r"answers\[0\] must hold a token, got none at characters 3 to 4"):
        task.examples([QUESTION], ["bob lives"], [(" ", 3)])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"stride": 8}, "stride must be at least 1 and less than the 8 tokens"),
        ({"stride": 0}, "stride must be at least 1 and less than the 8 tokens"),
        (
            {"max_query_length": 0},
            "max_query_length must be at least 1 and leave room for a context in 16 tokens, got 0",
        ),
        ({"max_query_length": 12}, "max_query_length must be at least 1 and leave room .* in 16 tokens, got 12"),
        ({"max_answer_length": 0}, "max_answer_length must be at least 1, got 0"),
        ({"null_threshold": float("nan")}, "null_threshold must be a finite number or None, got nan"),
        ({"max_length": 49}, "max_length must be between 3 and the model's 48 positions, got 49"),
    ],
)
def test_bad_settings(changes, message):
    with pytest.raises(ValueError, match=f"QuestionAnswering.{message}"):
        QuestionAnswering.build(make_encoder(), TOKENIZER, **SETTINGS | changes)


def test_a_model_of_another_shape_is_refused():
    encoder = make_encoder()
    model = keras.Model(encoder.input, encoder.output["sequence_output"])
    with pytest.raises(ValueError, match=r"QuestionAnswering.model must give logits \(batch, length, 2\)"):
        QuestionAnswering(model, TOKENIZER, **SETTINGS)


def test_characters_beyond_ascii():
    pytest.importorskip("tensorflow_text")
    from keras_bert.tokenizers.tokenizer import Tokenizer as RealTokenizer

    words = [*WORDS, "zoe", "munchen", "東", "京", "##s"]
    tokenizer = RealTokenizer((*SPECIAL, *words), True)
    task = QuestionAnswering.build(make_encoder(vocabulary_size=len(tokenizer.vocabulary)), tokenizer, **SETTINGS)
    context = "Zoë 🙂 lives in Münchens 東京 now"
    for text, tokens in (("Zoë", [4, 4]), ("München", [8, 8]), ("東京", [10, 11]), ("now", [12, 12])):
        _, y = task.examples(["where ?"], [context], [(text, context.index(text))])
        assert y.tolist() == [tokens]
    task.null_threshold = None
    answer = task.predict(["where ?"], [context])[0]
    assert context[answer.start : answer.end] == answer.text


def test_an_answer_ends_with_the_marks_of_its_last_letter():
    name = "\u0935\u093f\u0937\u094d\u0923\u0941"  # Vishnu, which ends with a vowel sign that no token covers
    spans = Spans(*(np.array([value]) for value in (0.0, 0, 1, 0.0, -9.0)))
    pieces = SimpleNamespace(starts=np.array([2, 5]), ends=np.array([5, 7]))
    (answer,) = answers_of(spans, pieces, [f"a {name}!"], None)
    assert (answer.text, answer.start, answer.end) == (name, 2, 2 + len(name))
