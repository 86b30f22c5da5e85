"""SavedModels: text in, answers out, as the task itself answers."""

import copy
import dataclasses
import json
import shutil
import tempfile

import numpy as np
import pytest
import tensorflow as tf

import keras_bert
from keras_bert.export.attachments import read_attachments
from keras_bert.export.check import ParityError
from keras_bert.export.files import list_parts
from keras_bert.export.lint import LintError, lint_file
from keras_bert.export.rules.expected import Expected
from keras_bert.export.runtimes import load_saved_model
from keras_bert.export.sample_texts import TEXTS
from keras_bert.export.saved_model import check_saved_model, find_signatures
from keras_bert.export.served_calibration import write_calibration
from keras_bert.tasks.calibration import Calibration
from keras_bert.tasks.entities import decode
from keras_bert.tasks.retrieval import Retrieval
from keras_bert.tokenizers.subwords import SubwordTokenizer
from tests.keras_bert.export.word_tasks import SETTINGS, make_task, make_texts
from tests.keras_bert.families.test_every_graph import CONFIGS
from tests.keras_bert.tokenizers.subwords import bpe
from tests.samples import long_but

# Of several rows and windows, and of words with marks behind their last letter.
LONG = (*TEXTS, *make_texts(8, 60), "film e\u0301. great\u0301")
SECONDS = (*LONG[1:], LONG[0])
PROMPTS = {"query": "a plot: ", "passage": "the film: "}


@pytest.fixture(scope="module")
def classifier(tmp_path_factory):
    """A classifier and its SavedModel."""
    task = make_task("classification")
    return task, export(task, tmp_path_factory.mktemp("classifier"))


def export(task, folder):
    task.export(folder / "saved_model.pb")
    return folder / "saved_model.pb"


def ask(file, signature, *sides):
    serve = load_saved_model(file).signatures[signature]
    names = ("text", "second") if signature == "serve_pair" else ("text",)
    return {
        name: values.numpy()
        for name, values in serve(**dict(zip(names, map(tf.constant, sides), strict=False))).items()
    }


@pytest.mark.parametrize("name", long_but((), SETTINGS))
def test_texts_get_the_answers_of_the_task_and_so_do_ids(name, tmp_path):
    task = make_task(name)
    file = export(task, tmp_path / "moved [1]")
    assert check_saved_model(task, file, LONG) < 1e-5
    loaded = keras_bert.load(file.parent)
    texts = [LONG, SECONDS] if task.second_text == "required" else [LONG]
    for ours, theirs in zip(task.predict(*texts), loaded.predict(*texts), strict=True):
        assert_same(ours, theirs)


def assert_same(ours, theirs):
    """Records are equal but for the last digits of their numbers."""
    if isinstance(ours, list):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            assert_same(one, other)
    elif dataclasses.is_dataclass(ours):
        assert dataclasses.asdict(ours) == pytest.approx(dataclasses.asdict(theirs), abs=1e-4)
    else:
        np.testing.assert_allclose(ours, theirs, atol=1e-4)


@pytest.mark.long
@pytest.mark.parametrize("family", CONFIGS)
def test_every_family_answers_texts_and_ids(family, tmp_path):
    config = CONFIGS[family]
    settings = {"variant": config.variant, "embedding_size": config.embedding_size}
    task = make_task("question_answering", num_segments=config.num_segments, **settings)
    file = export(task, tmp_path)
    if family != "bigbird":  # its answers depend on the padding
        assert check_saved_model(task, file, LONG) < 1e-5
    assert_same(keras_bert.load(file).predict(LONG, SECONDS), task.predict(LONG, SECONDS))


@pytest.mark.long
def test_compressed_and_adapted_models_keep_their_weights(tmp_path):
    texts, labels = make_texts(12, 12), ["good", "bad"] * 6
    fine_tuned, quantized, pruned = (make_task("classification") for _ in range(3))
    fine_tuned.adapt(keras_bert.Lora(rank=2))
    for weight in fine_tuned.model.trainable_weights:
        weight.assign(weight + 0.05)
    keras_bert.quantize(quantized, texts, labels, post_training=True)
    keras_bert.prune(pruned, texts, labels, epochs=1, batch_size=4, verbose=0)
    for name, task in {"adapter": fine_tuned, "quantized": quantized, "pruned": pruned}.items():
        file = export(task, tmp_path / name)
        assert check_saved_model(task, file, LONG) < 1e-5
        task.export(tmp_path / name / "model.onnx")
        for place in (file, tmp_path / name / "model.onnx"):
            assert_same(keras_bert.load(place).predict(LONG), task.predict(LONG))


def test_tags_and_answers_have_the_places_of_the_task_in_long_texts(tmp_path):
    tagger = make_task("token_classification")
    served = ask(export(tagger, tmp_path / "tags"), "serving_default", LONG)
    for row, (text, entities) in enumerate(zip(LONG, tagger.predict(LONG), strict=True)):
        held = served["starts"][row] >= 0
        tags = [tag.decode() for tag in served["tags"][row][held]]
        places = (served[name][row][held] for name in ("probabilities", "starts", "ends"))
        assert_same(decode(text, tags, *places), entities)
    answering = make_task("question_answering")
    served = ask(export(answering, tmp_path / "answers"), "serve_pair", LONG, SECONDS)
    for row, answer in enumerate(answering.predict(LONG, SECONDS)):
        answered = (served["answer"][row].decode(), served["start"][row], served["end"][row])
        assert answered == (answer.text, answer.start, answer.end)
        assert served["null_score_difference"][row] == pytest.approx(answer.null_score_difference, abs=1e-4)
    nothing = np.zeros(0, "S1")
    for name, signature, sides in (("tags", "serve_text", [nothing]), ("answers", "serve_pair", [nothing, nothing])):
        answers = ask(tmp_path / name / "saved_model.pb", signature, *sides)
        assert {len(values) for values in answers.values()} == {0}


def test_a_calibration_that_is_chosen_later_changes_probabilities_and_what_is_sure(classifier, tmp_path):
    task = copy.copy(classifier[0])
    task.calibration = Calibration(temperature=1.7, threshold=0.5)
    file = tmp_path / "calibrated" / "saved_model.pb"
    shutil.copytree(classifier[1].parent, file.parent)
    write_calibration(file.parent, task.calibration)
    models = [load_saved_model(path) for path in (file, classifier[1])]
    served, plain = ({name: part.numpy() for name, part in model.serve(tf.constant(LONG)).items()} for model in models)
    assert plain["sure"].all()
    assert np.abs(served["probability"] - plain["probability"]).max() > 0.01
    answers = task.predict(LONG)
    assert [label.decode() for label in served["label"]] == [answer.label for answer in answers]
    np.testing.assert_allclose(served["probability"], [answer.probability for answer in answers], atol=1e-6)
    assert served["sure"].tolist() == [task.calibration.is_sure(answer.probability) for answer in answers]
    assert set(served["sure"]) == {True, False}
    assert tempfile.gettempdir().encode() not in file.read_bytes(), "equal tasks give equal bytes"


@pytest.mark.long
def test_queries_and_passages_get_their_prompts(tmp_path):
    made = make_task("embedding")
    task = Retrieval(made.model, made.tokenizer, max_length=made.max_length, prompts=PROMPTS, normalize=True)
    file = export(task, tmp_path)
    for signature, prompt in (("serving_default", "query"), ("serve_passage", "passage"), ("serve_text", "")):
        vectors = ask(file, signature, LONG)["vector"]
        np.testing.assert_allclose(vectors, task.predict(LONG, prompt=prompt), atol=1e-5)
    similarities = [value for (value,) in task.answer_values(LONG, SECONDS)]
    np.testing.assert_allclose(ask(file, "serve_pair", LONG, SECONDS)["similarity"], similarities, atol=1e-5)


def test_a_session_opens_it_as_tensorflow_serving_does(classifier):
    task, file = classifier
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        graph = tf.compat.v1.saved_model.load(session, ["serve"], str(file.parent))
        assert set(graph.signature_def["serving_default"].inputs) == {"text"}
        signature = graph.signature_def["serve_pair"]
        assert set(signature.inputs) == {"text", "second"}
        given = {signature.inputs["text"].name: LONG, signature.inputs["second"].name: SECONDS}
        served = session.run({name: info.name for name, info in signature.outputs.items()}, given)
        empty = session.run(signature.outputs["probabilities"].name, {name: [] for name in given})
    assert empty.shape == (0, 3)
    assert [label.decode() for label in served["label"]] == [answer.label for answer in task.predict(LONG, SECONDS)]
    assert set(read_attachments(file)) == {"digest.json", "task.json", "tokenizer.json", "vocab.txt"}
    pairs = copy.copy(task)
    pairs.pairs = True
    assert list(find_signatures(pairs)) == ["serve_pair", "serve_text"]


@pytest.mark.long
def test_other_tokenizers_take_ids(tmp_path):
    task = make_task("classification", tokenizer=SubwordTokenizer(json.loads(bpe())))
    assert find_signatures(task) == {}
    file = export(task, tmp_path)
    assert set(load_saved_model(file).signatures) == {"serving_default", "serve_ids"}
    assert_same(keras_bert.load(file).predict(LONG), task.predict(LONG))


def test_a_damaged_one_is_refused_in_one_line(classifier, tmp_path):
    file = classifier[1]
    for part in list_parts(file):
        folder = tmp_path / part.name
        shutil.copytree(file.parent, folder)
        damaged = folder / part.relative_to(file.parent)
        content = bytearray(damaged.read_bytes())
        content[len(content) // 2] ^= 0xFF
        damaged.write_bytes(content)
        if part.name in ("saved_model.pb", "digest.json") or part.parent.name == "variables":
            with pytest.raises(ValueError, match=r"saved_model\.pb must (hold|be as it was exported)[^\n]*$"):
                keras_bert.load(folder)
    (folder / "variables" / "variables.index").unlink()
    with pytest.raises(ValueError, match=r"saved_model\.pb must be of a SavedModel: [^\n]*$"):
        load_saved_model(folder / "saved_model.pb")


def test_a_signature_for_a_fixed_batch_or_without_a_default_breaks_a_rule(tmp_path):
    module = tf.Module()
    module.serve = tf.function(lambda text: {"length": tf.strings.length(text)})
    fixed = module.serve.get_concrete_function(tf.TensorSpec((1,), tf.string, name="text"))
    for name, rule in (("serving_default", "any_batch: serving_default: text"), ("serve", "served_signatures")):
        tf.saved_model.save(module, str(tmp_path / name), signatures={name: fixed})
        with pytest.raises(LintError, match=rf"^saved_model\.pb, {rule}"):
            lint_file(tmp_path / name / "saved_model.pb", Expected(10))


@pytest.mark.long
def test_other_answers_to_texts_are_no_parity(tmp_path):
    task = make_task("regression")
    file = export(task, tmp_path)
    weight = task.model.trainable_weights[-1]
    weight.assign(weight + 1.0)
    with pytest.raises(ParityError, match=r"^saved_model\.pb, serve_text must differ by at most"):
        check_saved_model(task, file, TEXTS)
