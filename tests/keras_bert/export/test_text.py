"""Files that take text: the ids that the tokenizer makes, in the graph."""

import numpy as np
import pytest

from keras_bert.export.check import ParityError
from keras_bert.export.sample_texts import SECONDS, TEXTS
from keras_bert.export.targets.litert import LiteRTText
from keras_bert.export.text import TextModel, check_text, export_text
from keras_bert.export.text_inputs import TextInputs
from keras_bert.export.tflite import export_tflite
from keras_bert.models.encoder import input_names
from keras_bert.tasks.entities import decode
from tests.keras_bert.clients.exported import LENGTHS
from tests.keras_bert.export.grids import export_on_grids
from tests.keras_bert.export.turns import most_at_once
from tests.keras_bert.export.word_tasks import make_task
from tests.samples import long_but


def rows_of(task, texts, seconds=None):
    encoded = task.tokenizer.encode(texts, seconds, max_length=LENGTHS[-1])
    return {name: np.asarray(encoded[name]) for name in input_names(task.network())}


def test_texts_and_pairs_get_the_models_numbers(tmp_path):
    task = make_task("classification")
    export_text(task, tmp_path / "text.tflite")
    ask = TextModel(tmp_path / "text.tflite")
    for seconds in (None, SECONDS):
        expected = np.asarray(task.network()(rows_of(task, TEXTS, seconds)))
        np.testing.assert_allclose(ask(TEXTS, seconds)["logits"], expected, atol=1e-5)
    assert ask(["x" * 100_000])["logits"].shape == (1, 3)


@pytest.mark.long
def test_threads_take_turns(tmp_path):
    export_text(make_task("classification"), tmp_path / "text.tflite")
    ask = TextModel(tmp_path / "text.tflite")
    assert most_at_once(ask._ask, lambda: ask(["a plot"])) == 1


def test_words_stand_at_their_first_pieces_with_their_tags(tmp_path):
    """What an app does with it: the label of each place that is none of -1."""
    task = make_task("token_classification")
    export_text(task, tmp_path / "text.tflite")
    ask = TextModel(tmp_path / "text.tflite")
    # The last two are cut: one between words, the other within one.
    texts = [
        "The unbelievable film, 2000 \u00e9\U0001f642 plots!",
        "",
        "  plot",
        "film " * 50,
        "the " + "unbelievable " * 12,
    ]
    outputs = ask(texts)
    for text, logits, starts, ends in zip(texts, outputs["logits"], outputs["starts"], outputs["ends"], strict=True):
        ids, first, last = (part.to_list()[0] for part in task.tokenizer.tokenize_with_offsets([text]))
        begins = [not task.tokenizer.continues(task.tokenizer.vocabulary[number]) for number in ids] + [True]
        words = [place for place, begin in enumerate(begins[:-1]) if begin]
        expected = [(first[place], last[begins.index(True, place + 1) - 1]) for place in words]
        room = LENGTHS[-1] - 2
        held = [place for place, begin in zip(expected, words, strict=True) if begin < room]
        assert [(s, e) for s, e in zip(starts, ends, strict=True) if s >= 0] == held
        assert np.flatnonzero(starts >= 0).tolist() == [place + 1 for place in words if place < room]
        assert ((starts >= 0) == (ends >= 0)).all()
        logits_ = np.asarray(task.network()(rows_of(task, [text])))[0]
        np.testing.assert_allclose(logits[: len(logits_)], logits_, atol=1e-5)
    # A text that is read whole gets the entities that the task finds.
    held = outputs["starts"][0] >= 0
    tags = [task.labels[number] for number in outputs["logits"][0][held].argmax(axis=1)]
    entities = decode(texts[0], tags, np.ones(len(tags)), outputs["starts"][0][held], outputs["ends"][0][held])
    assert [(e.label, e.start, e.end) for e in entities] == [
        (e.label, e.start, e.end) for e in task.predict(texts[:1])[0]
    ]
    assert entities
    with pytest.raises(ValueError, match=r"text\.tflite must be asked single texts, got text and second$"):
        ask(texts, texts)


def test_the_pieces_of_a_context_tell_their_places(tmp_path):
    task = make_task("question_answering")
    export_text(task, tmp_path / "text.tflite")
    ask = TextModel(tmp_path / "text.tflite")
    question, context = "What film?", "A gre\u00e1t film, the plot is dull."
    logits, starts, ends = (ask([question], [context])[name][0] for name in ("logits", "starts", "ends"))
    _, first, last = (part.to_list()[0] for part in task.tokenizer.tokenize_with_offsets([context]))
    held = np.flatnonzero(starts >= 0)
    assert starts[held].tolist() == first
    assert ends[held].tolist() == last
    before = len(task.tokenizer.tokenize([question]).to_list()[0]) + 2
    assert held.tolist() == list(range(before, before + len(first)))
    # The most probable span, as an app finds it.
    scores = logits[held, 0][:, None] + logits[held, 1][None]
    begin, end = np.unravel_index(np.where(np.tri(len(held)).T, scores, -np.inf).argmax(), scores.shape)
    (answer,) = task.predict([question], [context])
    assert (answer.start, answer.end) == (starts[held][begin], ends[held][end])
    with pytest.raises(ValueError, match=r"text\.tflite must be asked pairs, got text$"):
        ask([question])


@pytest.mark.long
def test_other_places_are_found(tmp_path):
    task = make_task("token_classification")
    export_tflite(task.network(), tmp_path / "ids.tflite", LENGTHS)
    wrong = TextInputs(task.tokenizer, ("serve_text",), "tokens")
    export_tflite(task.network(), tmp_path / "text.tflite", LENGTHS, text=wrong)
    with pytest.raises(
        ParityError, match=r"^text\.tflite must tell the places of the tokenizer, got others as starts$"
    ):
        check_text(task, tmp_path / "text.tflite", tmp_path / "ids.tflite", TEXTS)
    export_text(task, tmp_path / "text.tflite")
    assert check_text(task, tmp_path / "text.tflite", tmp_path / "ids.tflite", TEXTS) < 1e-4


@pytest.mark.parametrize("recipe", long_but(["mixed_wi8_ai8"], ("mixed_wi8_ai8", "weights_wi4", "float16")))
def test_integers_are_those_of_the_file_that_takes_ids(recipe, tmp_path):
    task = make_task("embedding")
    network, rows = task.network(), rows_of(task, TEXTS)
    options = {"batches": [rows], "output": task.output_name}
    rounding = export_on_grids(network, recipe, tmp_path / "ids.tflite", LENGTHS[-1:], **options)
    export_text(task, tmp_path / "text.tflite", rounding)
    assert check_text(task, tmp_path / "text.tflite", tmp_path / "ids.tflite", TEXTS) < 1e-4
    with pytest.raises(ValueError, match=r"text\.tflite must be asked single texts, got text and second$"):
        TextModel(tmp_path / "text.tflite")(TEXTS, SECONDS)


@pytest.mark.long
def test_another_vocabulary_is_found(tmp_path):
    task = make_task("regression")
    export_tflite(task.network(), tmp_path / "ids.tflite", LENGTHS, output=task.output_name)
    pieces = task.tokenizer.vocabulary
    task.tokenizer = type(task.tokenizer)((*pieces[:5], *reversed(pieces[5:])), lowercase=True)
    export_text(task, tmp_path / "text.tflite")
    task.tokenizer = type(task.tokenizer)(pieces, lowercase=True)
    with pytest.raises(ParityError, match=r"^text\.tflite must differ by at most"):
        check_text(task, tmp_path / "text.tflite", tmp_path / "ids.tflite", TEXTS)


def test_what_cannot_be_is_refused(tmp_path):
    task = make_task("regression")
    with pytest.raises(ValueError, match=r"^tflite_text cannot take this model: .* got the recipe static_wi8_ai8$"):
        LiteRTText().check(task, "static_wi8_ai8")
    export_tflite(task.network(), tmp_path / "ids.tflite", LENGTHS)
    with pytest.raises(ValueError, match="must take text, got the signatures"):
        TextModel(tmp_path / "ids.tflite")
    (tmp_path / "text.tflite").write_bytes(b"damaged")
    with pytest.raises(ValueError, match=r"must be a \.tflite file"):
        TextModel(tmp_path / "text.tflite")
