"""The `.tflite` files on an emulated aarch64 with dot products: the processor of phones, other kernels than here."""

import json
import os
import shlex
import subprocess
from pathlib import Path

import numpy as np
import pytest

from keras_bert.compress.quantization_parameters import QuantizationParameters
from keras_bert.compress.quantize import QuantizationAware
from keras_bert.export.quantized import export_quantized
from keras_bert.export.runtimes import TFLiteModel
from keras_bert.export.sample_texts import TEXTS
from keras_bert.models.encoder import input_names
from keras_bert.options.quantization import RECIPES
from tests.keras_bert.clients.exported import LENGTHS
from tests.keras_bert.export.word_tasks import SETTINGS, make_task

pytestmark = pytest.mark.aarch64

SCRIPT = Path(__file__).with_name("ask_litert.py")


def ask(file, rows):
    """What the file answers there."""
    command = os.environ.get("AARCH64_PYTHON")
    assert command, "AARCH64_PYTHON must be a command that runs a Python for aarch64; `make test-aarch64` has one"
    done = subprocess.run(
        [*shlex.split(command), str(SCRIPT), str(file)],
        input=json.dumps(rows),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout)
    assert answers["machine"] == "aarch64"
    return answers["answers"]


def compare(task, file):
    """All numbers there, and here."""
    encoded = task.tokenizer.encode(list(TEXTS), max_length=LENGTHS[-1])
    rows = {name: np.asarray(encoded[name]) for name in input_names(task.network())}
    here = TFLiteModel(file)(**rows)
    here = here[task.output_name] if isinstance(here, dict) else here
    sizes = rows["padding_mask"].sum(axis=1)
    given = [{name: rows[name][row, :size].tolist() for name in rows} for row, size in enumerate(sizes)]
    here = [row[:size] if row.ndim == 2 else row for row, size in zip(here, sizes, strict=True)]
    there = ask(file, given)
    return np.concatenate([np.ravel(row) for row in there]), np.concatenate([row.ravel() for row in here])


@pytest.mark.parametrize("recipe", [None, *RECIPES])
def test_every_recipe_gives_the_same_numbers(recipe, tmp_path):
    task = make_task("classification")
    network, rounding, rows = task.network(), None, None
    if recipe is not None:
        encoded = task.tokenizer.encode(list(TEXTS), max_length=LENGTHS[-1])
        rows = {name: np.asarray(encoded[name]) for name in input_names(network)}
        rounding = QuantizationParameters(recipe, QuantizationAware(network, [rows], recipe).finish())
    export_quantized(network, tmp_path / "model.tflite", LENGTHS, rounding, rows)
    there, here = compare(task, tmp_path / "model.tflite")
    # Between two steps of a grid a last bit decides; of ten texts one may have such a value.
    share = 1e-5 if recipe in (None, "float16") else 0.02
    np.testing.assert_allclose(there, here, atol=share * np.ptp(here))
    assert np.isclose(there, here, atol=1e-5).mean() >= 0.9


@pytest.mark.parametrize("kind", SETTINGS)
def test_every_task_gives_the_same_numbers(kind, tmp_path):
    task = make_task(kind)
    export_quantized(task.network(), tmp_path / "model.tflite", LENGTHS, None, output=task.output_name)
    there, here = compare(task, tmp_path / "model.tflite")
    np.testing.assert_allclose(there, here, atol=1e-5)
