"""A compiled task answers as its task does, and stands by itself."""

import gc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from keras_bert.export.task_export import compile_task
from keras_bert.options.adaptation import Lora
from keras_bert.tasks.calibration import Calibration
from tests.keras_bert.adaptation.test_adapter import disturb
from tests.keras_bert.export.word_tasks import SETTINGS, make_task, make_texts
from tests.samples import long_but

TEXTS = ["", *make_texts(12, 10), "a film " * 40]


def outputs(task):
    """The outputs of all texts in one array; those of a token without the padding, for which files have zeros."""
    if task.name == "embedding":
        return np.ravel(task.predict(TEXTS))
    firsts = [TEXTS] if task.name != "question_answering" else [TEXTS, TEXTS[::-1]]
    rows = task.outputs(*firsts)
    if task.name in ("token_classification", "question_answering"):
        rows = [row[mask == 1] for row, mask in zip(rows, task.encode(*firsts)["padding_mask"], strict=False)]
    return np.concatenate([np.ravel(row) for row in rows])


@pytest.mark.parametrize("name", long_but(["classification"], SETTINGS))
def test_outputs_are_those_of_the_task(name):
    task = make_task(name)
    np.testing.assert_allclose(outputs(compile_task(task)), outputs(task), atol=1e-5)


@pytest.fixture
def task():
    return make_task("classification")


def test_it_keeps_weights_and_calibration(task):
    task.calibration = Calibration(temperature=2.0)
    before, answers = outputs(task), task.predict(TEXTS)
    compiled = compile_task(task)
    for weight in task.model.trainable_weights:
        weight.assign(weight + 0.1)
    task.calibration = Calibration()
    gc.collect()
    np.testing.assert_allclose(outputs(compiled), before, atol=1e-5)
    probabilities = [answer.probability for answer in compiled.predict(TEXTS)]
    np.testing.assert_allclose(probabilities, [answer.probability for answer in answers], atol=1e-5)


def test_threads_take_turns_and_compiled_tasks_are_not_compiled_again(task):
    compiled, expected = compile_task(task, num_threads=2), outputs(task)
    with ThreadPoolExecutor(4) as pool:
        for answer in pool.map(outputs, [compiled] * 8):
            np.testing.assert_allclose(answer, expected, atol=1e-5)
    with pytest.raises(ValueError, match="compiled"):
        compile_task(compile_task(task))


def test_each_task_of_an_encoder_keeps_its_adapter(task):
    base = outputs(task)
    adapter = task.adapt(Lora(rank=2))
    disturb(adapter)
    adapted = outputs(task)
    assert np.abs(adapted - base).max() > 0.01
    adapter.detach()
    np.testing.assert_allclose(outputs(compile_task(task)), adapted, atol=1e-5)
    assert not adapter.attached
