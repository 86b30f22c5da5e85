import json

import keras
import numpy as np
import pytest
from scipy.special import expit

from keras_bert.tasks.calibration import Calibration
from keras_bert.tasks.classification import Prediction
from keras_bert.tasks.multi_label import MultiLabelClassification
from tests.keras_bert.tasks.tiny import make_encoder, make_tokenizer

LABELS = ["action", "comedy", "drama"]
TEXTS = ["a good film", "bad .", "a very good film"]


def make_task(**settings):
    keras.utils.set_random_seed(1)
    task = MultiLabelClassification.build(
        make_encoder(), make_tokenizer(), labels=LABELS, max_length=20, **{"pooling": "mean", **settings}
    )
    head = task.model.get_layer("classifier")
    head.kernel.assign(np.random.default_rng(0).normal(scale=2.0, size=head.kernel.shape))
    return task


@pytest.fixture(scope="module")
def shared():
    return make_task()


def outputs_of(task):
    return np.stack(list(task.outputs(TEXTS)))


def test_labels_are_those_whose_probability_reaches_their_threshold(shared):
    task, shares = make_task(), expit(outputs_of(shared))
    task.thresholds = (shares[1] - 1e-4).clip(0, 1).tolist()
    for text, row, answers in zip(TEXTS, shares, task.predict(TEXTS), strict=True):
        expected = {label for label, share, least in zip(LABELS, row, task.thresholds, strict=True) if share >= least}
        assert {answer.label for answer in answers} == expected, text
        assert [answer.probability for answer in answers] == sorted((a.probability for a in answers), reverse=True)


def test_a_temperature_changes_probabilities_and_no_labels(shared):
    task, before = make_task(), shared.predict(TEXTS)
    task.calibration = Calibration(temperature=3.0)
    after = task.predict(TEXTS)
    assert [[a.label for a in answers] for answers in after] == [[a.label for a in answers] for answers in before]
    expected = expit(outputs_of(shared) / 3.0)
    for row, answers in zip(expected, after, strict=True):
        for answer in answers:
            assert answer.probability == pytest.approx(row[LABELS.index(answer.label)], abs=1e-6)


def test_what_a_terminal_and_a_table_show():
    task = make_task(thresholds=[0.0, None, 0.0])
    ((labels, probabilities),) = list(task.answer_values(TEXTS[:1]))
    assert set(labels) == {"action", "drama"}
    assert {answer.label for answer in probabilities} == set(LABELS)
    assert task.answer_columns() == {"labels": list[str], "probabilities": list[Prediction]}
    ((names, shares, text),) = list(task.answer_fields(TEXTS[:1]))
    assert names == ", ".join(labels)
    assert shares == ", ".join(f"{answer.probability:.4f}" for answer in probabilities if answer.label in labels)
    assert text == TEXTS[0]
    task.thresholds = [None, None, None]
    assert list(task.answer_fields(TEXTS[:1])) == [("(no label)", "", TEXTS[0])]


def test_thresholds_are_chosen_and_kept(shared):
    task, logits = make_task(), outputs_of(shared)
    truth = [["action"], [], ["action", "drama"]]
    task.choose_thresholds(logits, truth)
    assert 0 < task.thresholds[1] < 1, "no row has it: the common one"
    assert json.loads(json.dumps(task.settings()))["thresholds"] == list(task.thresholds)
    again = MultiLabelClassification.from_settings(task.model, task.tokenizer, task.settings())
    assert (again.thresholds, again.label_precision) == (task.thresholds, None)
    assert again.predict(TEXTS) == task.predict(TEXTS)
    with pytest.raises(ValueError, match=r"^labels must be as many as logits \(3\), got 4$"):
        task.choose_thresholds(logits, [*truth, ["action"]])
    precise = make_task(label_precision=1.0)
    precise.choose_thresholds(logits, [[], [], []])
    assert precise.thresholds == (None, None, None)
    assert precise.predict(TEXTS) == [[], [], []]


def test_a_row_has_a_flag_for_each_label(shared):
    _, flags = shared.examples(["good film", "bad film", "good", "bad"], [["action"], ["drama"], ["action"], []])
    assert (flags.dtype, flags.tolist()) == ("int32", [[1, 0, 0], [0, 0, 1], [1, 0, 0], [0, 0, 0]])


def test_the_explained_number_is_that_of_a_label(shared):
    target = shared.target("drama", outputs_of(shared)[0], None)
    assert (target.name, target.choice) == ("drama", "drama")
    np.testing.assert_array_equal(target.score(outputs_of(shared)), outputs_of(shared)[:, 2])
    with pytest.raises(
        ValueError, match=r"target must be one of \['action', 'comedy', 'drama'\], got 'dram'; the nearest is 'drama'"
    ):
        shared.target("dram", outputs_of(shared)[0], None)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"thresholds": [0.5]}, r"thresholds must be one for each of 3, got \(0.5,\)"),
        ({"thresholds": [0.5, 1.5, 0.5]}, r"thresholds must be between 0 and 1, or None, got "),
        ({"thresholds": [0.5, float("nan"), 0.5]}, r"thresholds must be between 0 and 1, or None, got "),
        ({"label_precision": 0.0}, "label_precision must be above 0 and at most 1, or None, got 0.0"),
    ],
)
def test_bad_settings(settings, message):
    build = {"labels": LABELS, "max_length": 20, "pooling": "mean", **settings}
    with pytest.raises(ValueError, match=message):
        MultiLabelClassification.build(make_encoder(num_layers=1), make_tokenizer(), **build)


def test_bad_labels_of_rows(shared):
    with pytest.raises(ValueError, match=r"labels\[1\] must be one of .*, got 'comedi'; the nearest is 'comedy'"):
        shared.examples(["a", "b"], [[], ["comedi"]])
    with pytest.raises(TypeError, match=r"labels\[0\] must be a list of strings, got 'comedy'"):
        shared.examples(["a"], ["comedy"])
    with pytest.raises(ValueError, match=r"labels must be as many as texts \(1\), got 2"):
        shared.examples(["a"], [[], []])
