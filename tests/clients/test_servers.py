"""Pushed folders in servers of others: the SavedModel, and the FastAPI server of the guide."""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

import keras_bert
from keras_bert.export.bundle import attach_companions
from keras_bert.export.inputs import ExportInputs
from keras_bert.export.onnx import export_onnx
from keras_bert.export.targets.registry import TARGETS
from keras_bert.options.export import Export
from tests.docs.blocks import REPOSITORY, read_blocks
from tests.keras_bert.export.word_tasks import make_task, make_texts

pytestmark = pytest.mark.servers

TEXTS = make_texts(12, 20)
GUIDE = REPOSITORY / "docs" / "guides" / "browsers-and-servers.md"
# What the guide's server answers to a request, and to one without texts.
ASK = """
import json, sys
from fastapi.testclient import TestClient
from app import app
client = TestClient(app)
answers = [client.post("/predict", json={"texts": texts}) for texts in (json.load(sys.stdin), [])]
print(json.dumps([(answer.status_code, answer.json()) for answer in answers]))
"""


@pytest.fixture(scope="module")
def pushed(tmp_path_factory):
    """A classifier, and a folder with its files for servers."""
    task, folder = make_task("classification"), tmp_path_factory.mktemp("pushed")
    source = ExportInputs(task, None, Export(lengths=(8, 16), runtimes=("onnx", "saved_model")), folder)
    for name in source.options.runtimes:
        TARGETS[name].write(source)
    attach_companions(task, folder / "saved_model.pb")
    task.save_settings(folder)
    return task, folder


def run(*arguments, stdin, folder=None):
    """The last line that a script prints, as JSON."""
    python = os.environ.get("SERVERS_PYTHON")
    assert python, "SERVERS_PYTHON must name an interpreter with the servers; `make test-servers` makes one"
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(
        [python, *arguments],
        input=json.dumps(stdin),
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_tensorflow_serving_gets_the_answers_of_the_task(pushed):
    task, folder = pushed
    seconds = TEXTS[::-1]
    questions = [("serving_default", {"text": TEXTS}), ("serve_pair", {"text": TEXTS, "second": seconds})]
    script = str(Path(__file__).with_name("ask_tensorflow.py"))
    for served, answers in zip(
        run(script, str(folder), stdin=questions),
        (task.predict(TEXTS), task.predict(TEXTS, seconds)),
        strict=True,
    ):
        assert served["label"] == [answer.label for answer in answers]
        np.testing.assert_allclose(served["probability"], [answer.probability for answer in answers], atol=1e-5)
        assert len(set(served["label"])) > 1, "not one answer to all"


def test_the_server_of_the_guide_answers(pushed, tmp_path):
    task, folder = pushed
    place = tmp_path / "runs" / "pushed" / "reviews"
    place.mkdir(parents=True)
    (place / "1").symlink_to(folder)
    export_onnx(task.network(), tmp_path / "model.onnx", output=task.output_name)
    (code,) = (
        block.code for block in read_blocks(GUIDE.read_text(), GUIDE.name) if block.code.startswith("from typing")
    )
    (tmp_path / "app.py").write_text(code)
    (status, answers), (refused, _) = run("-c", ASK, stdin=TEXTS, folder=tmp_path)
    assert (status, refused) == (200, 422)
    expected = keras_bert.load(folder).predict(TEXTS)
    assert [answer["label"] for answer in answers] == [answer.label for answer in expected]
    np.testing.assert_allclose(
        [answer["probability"] for answer in answers], [a.probability for a in expected], atol=1e-5
    )
