"""The task `open_labels`: saved, exported, compressed, and used from several threads with one encoder."""

import json
import threading

import numpy as np
import pytest

import keras_bert
from components.answers.model_inputs import open_task
from components.dsl.errors import InputError
from keras_bert.options.compression import Student
from keras_bert.tasks.classification import Classification
from plugins.open_labels.pairs import draw_partners
from plugins.open_labels.task import OpenLabels, open_labels
from tests.keras_bert.recipes.test_texts import QUICK, TEXTS, TOKENIZER, embedding
from tests.pipeline.command_line import refused, said

pytestmark = pytest.mark.usefixtures("eager")

LABELS = [text.split()[0] for text in TEXTS]
NEW = ["[x] [x] , [x]", "[x] , [x] [x]", "[x] [x]"]


@pytest.fixture
def task():
    return open_labels(embedding(), TEXTS, LABELS)


def answers(task, texts=TEXTS):
    return [(answer.label, round(answer.probability, 4), round(answer.score, 3)) for answer in task.classify(texts)]


def test_labels_grow_without_a_training(task):
    before = [weight.numpy() for weight in task.model.weights]
    assert np.mean([answer.label == label for answer, label in zip(task.classify(TEXTS), LABELS, strict=True)]) > 0.6
    old = answers(task)
    task.add_label("films", NEW)
    assert task.labels[-1] == "films"
    assert [answer.label for answer in task.classify(NEW)] == ["films"] * 3
    task.add_label("good_film", description="very good")
    assert task.table["good_film"].source == "name"
    task.table.undo()
    task.table.undo()
    assert answers(task) == old
    for weight, values in zip(task.model.weights, before, strict=True):
        np.testing.assert_array_equal(weight, values)


@pytest.mark.parametrize("share", [0.0, 0.25])
def test_fit_trains_the_encoder_and_fits_the_table_to_the_training_rows(share):
    task = embedding(OpenLabels)
    before = task.predict(TEXTS)
    # The last rows choose the weights, which may be those of the start; the table does not learn from them.
    task.fit(TEXTS, LABELS, validation_split=share, epochs=2, learning_rate=1e-2, **QUICK)
    vectors, first = task.predict(TEXTS), len(TEXTS) - round(share * len(TEXTS))
    assert share or np.abs(vectors - before).max() > 1e-3
    assert task.labels == tuple(sorted(set(LABELS[:first])))
    again = open_labels(task, TEXTS[:first], LABELS[:first])
    np.testing.assert_allclose(again.table.scores(vectors), task.table.scores(vectors), rtol=1e-3, atol=1e-2)


def test_pairs_are_of_one_label_and_other_texts_of_it_are_no_negatives():
    task = embedding(OpenLabels)
    rows, names = task.training_rows(TEXTS, LABELS), sorted(set(LABELS))
    assert [names[group] for group in rows["passage_group"]] == LABELS
    assert rows["answer_groups"].tolist() == [[group] for group in rows["passage_group"]]
    partners = [TEXTS[row] for row in draw_partners(LABELS)]
    np.testing.assert_array_equal(
        np.trim_zeros(rows["second_token_ids"][3]), np.trim_zeros(task.encode(partners[3:4])["token_ids"][0])
    )
    assert [text.split()[0] for text in partners] == LABELS
    assert sorted(partners) == sorted(TEXTS)
    losses = [task.objective(weights)(task.network(), rows, False)["loss"] for weights in (None, [1.0] * len(names))]
    assert float(losses[0][0]) == pytest.approx(float(losses[1][0]))
    weighted = task.objective([2.0] + [1.0] * (len(names) - 1)).weights(rows)["loss"]
    assert float(weighted) == len(TEXTS) + LABELS.count(names[0])


def test_narrower_vectors_have_no_table_of_wider_ones(task):
    narrow = task.truncated(4)
    with pytest.raises(ValueError, match=r"OpenLabels\.table must be fitted to rows first"):
        narrow.classify(TEXTS)
    narrow.fit_labels(TEXTS, LABELS)
    assert narrow.labels == task.labels
    assert task.predict(TEXTS).shape[1] > 4


def test_a_saved_task_has_its_labels(task, tmp_path):
    task.add_label("films", NEW)
    task.save(tmp_path / "saved")
    task.table.remove("films")
    loaded = keras_bert.load(tmp_path / "saved")
    assert isinstance(loaded, OpenLabels)
    assert loaded.labels == (*task.labels, "films")
    loaded.table.remove("films")
    assert answers(loaded) == answers(task)


@pytest.mark.parametrize("name", ["model.tflite", "model.onnx"])
def test_a_file_takes_labels_as_well(task, tmp_path, name):
    task.export(tmp_path / name)
    file = keras_bert.load(tmp_path / name)
    for one in (task, file):
        one.add_label("films", NEW)
    assert [answer[0] for answer in answers(file)] == [answer[0] for answer in answers(task)]
    np.testing.assert_allclose(file.table.scores(file.predict(NEW)), task.table.scores(task.predict(NEW)), atol=0.05)


def test_a_student_and_a_quantized_model_have_the_labels_of_the_teacher(task, tmp_path):
    student = keras_bert.distill(task, TEXTS, layers=[0, 1], epochs=1, learning_rate=1e-9, **QUICK)
    assert student.labels == task.labels
    np.testing.assert_allclose(
        student.table.scores(student.predict(TEXTS)), task.table.scores(task.predict(TEXTS)), atol=1e-3
    )
    student.add_label("films", NEW)
    assert "films" not in task.labels
    keras_bert.quantize(student, TEXTS, post_training=True)
    student.export(tmp_path / "int8.tflite")
    file = keras_bert.load(tmp_path / "int8.tflite")
    assert [answer.label for answer in file.classify(NEW)] == ["films"] * 3


@pytest.mark.parametrize(("hidden_size", "has_labels"), [(4, True), (4, False), (8, True)])
def test_a_student_of_another_width_has_a_table_of_its_own_vectors(task, hidden_size, has_labels):
    shape = Student(num_layers=1, hidden_size=hidden_size)
    student = keras_bert.distill(task, TEXTS, *([LABELS] if has_labels else []), student=shape, epochs=1, **QUICK)
    assert student.labels == task.labels
    assert len(student.table.space.center) == student.predict(TEXTS).shape[1]
    assert len(student.classify(TEXTS)) == len(TEXTS)


@pytest.mark.parametrize("data", [(TEXTS,), (TEXTS, LABELS)])
def test_vectors_of_others_are_refused_for_a_student_with_a_table(task, data):
    with pytest.raises(ValueError, match=r"distill\.vectors must be left out for a task with a table of labels, which"):
        keras_bert.distill(task, *data, layers=[0], vectors=task.predict(TEXTS)[:, ::-1], **QUICK)


def test_rows_without_a_label_that_was_added_are_refused(task):
    """The student had lost the label."""
    task.add_label("films", NEW)
    message = r"distill\.labels must hold rows of \['films'\], labels of the teacher that the student would not have"
    with pytest.raises(ValueError, match=message):
        keras_bert.distill(task, TEXTS, LABELS, layers=[0], epochs=1, **QUICK)
    labels = [*LABELS, *["films"] * len(NEW)]
    student = keras_bert.distill(task, [*TEXTS, *NEW], labels, layers=[0], epochs=1, **QUICK)
    assert student.labels == tuple(sorted(task.labels))
    assert keras_bert.distill(task, TEXTS, layers=[0], epochs=1, **QUICK).labels == task.labels


def test_prompts_of_queries_and_passages_have_no_part():
    task = open_labels(embedding(prompts={"query": "very ", "passage": "good "}), TEXTS, LABELS)
    assert "prompts" not in task.settings()
    rows = task.training_rows(TEXTS, LABELS)
    np.testing.assert_array_equal(rows["token_ids"], task.encode(TEXTS)["token_ids"])


def test_a_classifier_gives_its_encoder_and_keeps_its_answers():
    classifier = Classification.build(embedding().encoder, TOKENIZER, labels=sorted(set(LABELS)), max_length=8)
    before = classifier.predict(TEXTS)
    task = open_labels(classifier, TEXTS, LABELS)
    task.add_label("films", NEW)
    assert classifier.predict(TEXTS) == before
    assert set(task.labels) == {*classifier.labels, "films"}


def test_answers_of_other_threads_come_from_one_table(task):
    """Each answer is of the labels before or after a change, never of a part of both."""
    vectors, answers = task.predict(NEW), set()
    expected = {task.table.answer(vectors)[0]}

    def change():
        # By vectors: a model that shares the interpreter with the loop below would take minutes to make them.
        for _ in range(20):
            task.table.add("films", vectors)
            task.table.undo()

    task.table.add("films", vectors)
    expected.add(task.table.answer(vectors)[0])
    task.table.undo()
    thread = threading.Thread(target=change)
    thread.start()
    while thread.is_alive():
        answers.add(task.table.answer(vectors)[0])
    thread.join()
    assert answers <= expected


def test_answers_as_a_table(task):
    assert task.answer_columns() == {"label": str, "probability": float, "score": float}
    label, probability, _ = next(task.answer_values(TEXTS[:1]))
    assert task.format_answer((label, probability, 0.0), (TEXTS[0],)) == [(label, f"{probability:.4f}", TEXTS[0])]
    assert task.format_answer(("", 0.5, 0.0), ("a",)) == [("none of the labels", "0.5000", "a")]


def test_wrong_input_is_refused(task):
    with pytest.raises(ValueError, match=r"texts\[1\] must not be empty, got ' '"):
        task.add_label("films", ["film", " "])
    with pytest.raises(ValueError, match=r"OpenLabels\.table must be fitted to rows first, see fit_labels"):
        embedding(OpenLabels).classify(["film"])
    with pytest.raises(ValueError, match="seconds must be left out"):
        next(task.answer_values(["film"], ["film"]))


def test_explains_the_score_of_a_label():
    explain = pytest.importorskip("plugins.explain")
    task = open_labels(embedding(prompts={"query": "very "}), TEXTS, LABELS)
    task.add_label("films", NEW)
    vectors = task.predict(TEXTS[:1])
    (answer,), (scores,) = task.classify(TEXTS[:1]), task.table.densities.score(task.table.space.project(vectors))
    explained = explain.attributions(task, TEXTS[0], method="occlusion")
    assert explained.target == task.labels[task.table.scores(vectors).argmax()]
    assert explained.score == pytest.approx(answer.score, rel=1e-4)
    for number, label in ((0, task.labels[0]), (-1, "films")):
        explained = explain.attributions(task, TEXTS[0], label)
        assert (explained.target, explained.score) == (label, pytest.approx(scores[number], rel=1e-4))
        assert explained.gap < 0.05
    with pytest.raises(ValueError, match=r"target must be one of .*'films'.*, got 'filmss'; the nearest is 'films'"):
        explain.attributions(task, TEXTS[0], "filmss")


def test_reasons_of_a_student_are_compared_by_their_label(task):
    agreement = pytest.importorskip("plugins.explain.agreement").compare(task, task, TEXTS[:4])
    assert agreement.same_answers.all()
    assert [attribution.target for attribution in agreement.teacher] == [
        task.labels[row.argmax()] for row in task.table.scores(task.predict(TEXTS[:4]))
    ]


def test_the_command_explains_a_label_of_the_model_and_of_its_file(task, tmp_path, capfd):
    pytest.importorskip("plugins.explain", reason="the command is of another plug-in")
    task.save(tmp_path / "saved")
    task.export(tmp_path / "model.onnx")
    command = ("explain", tmp_path / "saved", TEXTS[0])
    content = json.loads(
        said(capfd, *command, "--target", LABELS[4], "--compare-with", tmp_path / "model.onnx", "--json")
    )
    assert [model["target"] for model in content["models"]] == [LABELS[4]] * 2
    shares = [[word["share"] for word in model["words"]] for model in content["models"]]
    np.testing.assert_allclose(*shares, rtol=1e-2, atol=1e-2)
    assert refused(capfd, *command[:3], LABELS[4]) == "SECOND must be left out: the model takes single texts"


@pytest.mark.parametrize(("option", "value"), [("prompt", "query"), ("vectors", "int8")])
def test_refuses_options_of_vectors_for_answers_that_are_labels(task, tmp_path, option, value):
    task.save(tmp_path / "saved")
    rule = f"^--{option} is only allowed for embedding and retrieval, got it for open_labels$"
    with pytest.raises(InputError, match=rule):
        open_task(tmp_path / "saved", **{option: value})
    assert open_task(tmp_path / "saved").labels == task.labels


def test_triton_names_no_labels_of_vectors(task, tmp_path):
    configuration = pytest.importorskip("plugins.triton.configuration")
    task.export(tmp_path / "model.onnx")
    configuration.write_config(task, tmp_path / "model.onnx", tmp_path / "config.pbtxt", [8])
    assert 'output { name: "embedding" data_type: TYPE_FP32 dims: [ 16 ] }\n' in (tmp_path / "config.pbtxt").read_text()
    assert not (tmp_path / "labels.txt").exists()
