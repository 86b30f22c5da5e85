"""The model repository in Triton itself."""

import sys
from pathlib import Path

import numpy as np
import pytest

from keras_bert.export.inputs import ExportInputs
from keras_bert.export.targets.registry import TARGETS
from keras_bert.options.export import Export
from tests.clients.test_servers import TEXTS, run
from tests.keras_bert.export.word_tasks import make_task

pytestmark = pytest.mark.servers


@pytest.mark.skipif(sys.platform != "linux" or sys.version_info >= (3, 13), reason="Triton's wheel is not for it")
def test_triton_batches_requests_and_names_labels(tmp_path):
    task = make_task("classification")
    source = ExportInputs(task, None, Export(lengths=(8, 16), runtimes=("onnx", "triton")), tmp_path)
    for name in source.options.runtimes:
        TARGETS[name].write(source)
    encoded = task.tokenizer.encode(TEXTS, max_length=16)
    rows = [{name: np.asarray(values)[row].tolist() for name, values in encoded.items()} for row in range(len(TEXTS))]
    served = run(str(Path(__file__).with_name("ask_triton.py")), str(tmp_path / "triton"), stdin=rows)
    logits = task.network().predict({name: np.asarray(values) for name, values in encoded.items()}, verbose=0)
    np.testing.assert_allclose(served["logits"], logits, atol=1e-5)
    assert served["labels"] == [task.labels[number] for number in logits.argmax(axis=1)]
    # A run for each length before the first request, in each of the two instances that Triton has on a processor.
    before = 2 * len(Export(lengths=(8, 16)).choose_lengths(task.max_length))
    assert served["batches"][:before] == [1] * before
    assert sum(served["batches"]) == before + 2 * len(rows)
    assert max(served["batches"]) > 1
