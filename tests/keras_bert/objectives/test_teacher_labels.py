"""The labels that a teacher's outputs give to rows without any."""

from types import SimpleNamespace

import numpy as np
import pytest

from keras_bert.tasks.multi_label import MultiLabelClassification
from tests.keras_bert.objectives.kinds import KINDS, build

LOGITS = np.array([[[1.0, 3.0], [5.0, 0.0], [9.0, 9.5]], [[0.0, 1.0], [2.0, 0.5], [1.0, 4.0]]], "float32")
MASK = np.array([[1, 1, 0], [1, 1, 1]])


def labels(name, outputs, **batch):
    return {key: values.tolist() for key, values in KINDS[name].objective.labels_from(outputs, batch).items()}


def test_rows_get_the_likeliest_label():
    assert labels("classification", LOGITS[0]) == {"label": [1, 0, 1]}


def test_texts_get_the_labels_that_reach_the_teachers_thresholds():
    logits = np.array([[-1.0, 3.0, -0.5], [-2.0, 9.0, 0.5]], "float32")
    assert labels("multi_label", logits) == {"label": [[0, 1, 0], [0, 1, 1]]}
    teacher = MultiLabelClassification(
        build("multi_label"), SimpleNamespace(vocabulary_size=20), labels=["a", "b", "c"], max_length=8
    )
    teacher.thresholds = [0.25, None, 0.5]
    assert teacher.objective().labels_from(logits, {})["label"].tolist() == [[1, 0, 0], [0, 0, 1]]
    assert (teacher.decide(logits) == [[True, False, False], [False, False, True]]).all()


def test_words_get_the_likeliest_tag_and_other_tokens_none():
    assert labels("token_classification", LOGITS, label=np.array([[-1, 0, -1], [1, -1, 0]])) == {
        "label": [[-1, 0, -1], [1, -1, 1]]
    }


def test_questions_get_the_likeliest_ends_outside_of_padding():
    assert labels("question_answering", LOGITS, padding_mask=MASK) == {"positions": [[1, 0], [1, 2]]}


def test_numbers_and_cosines_are_the_labels():
    assert labels("regression", np.array([[0.5], [-2.0]])) == {"value": [0.5, -2.0]}
    assert labels("embedding", np.array([0.5, -0.25])) == {"value": [0.5, -0.25]}


@pytest.mark.parametrize("name", KINDS)
def test_outputs_run_along_the_tokens_where_the_objective_says_so(name):
    objective, batch = KINDS[name].objective, KINDS[name].batch
    outputs = np.asarray(objective.run(build(name), batch, training=False))
    along_tokens = outputs.ndim > 1 and outputs.shape[1] == batch["token_ids"].shape[1]
    assert along_tokens == objective.has_token_outputs
