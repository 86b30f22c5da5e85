import dataclasses

import pytest

from keras_bert.options import training
from keras_bert.options.training import Training


@pytest.mark.parametrize("native", ["bfloat16", "float32"])
def test_auto_becomes_what_the_processor_computes_natively_at_once(monkeypatch, native):
    monkeypatch.setattr(training, "native_precision", lambda: native)
    chosen = Training(precision="auto")
    assert dataclasses.asdict(chosen)["precision"] == native
    assert chosen == Training(precision=native)
    assert dataclasses.replace(chosen, seed=1).precision == native


@pytest.mark.parametrize("precision", ["float32", "bfloat16", "float16"])
def test_a_precision_that_was_chosen_stays(monkeypatch, precision):
    monkeypatch.setattr(training, "native_precision", lambda: pytest.fail("nobody asked for it"))
    assert Training(precision=precision).precision == precision


def test_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Training().steps = 3


def test_steps():
    assert Training(steps=7).count_steps(1000) == 7
    assert Training(epochs=1.5, batch_size=8).count_steps(100) == 19
    assert Training(epochs=1, batch_size=512).count_steps(3) == 1


def test_the_parts_of_a_batch():
    assert Training(batch_size=24, accumulation=3).micro_batch_size == 8
