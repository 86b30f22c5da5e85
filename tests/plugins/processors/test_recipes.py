"""Files of all recipes and tasks on emulated processors, whose kernels are others than here."""

import contextlib
import subprocess
import sys

import numpy as np
import pytest

from components.dsl.errors import InputError
from keras_bert.clients.golden import make_golden_rows, write_golden
from keras_bert.clients.self_test import check_file, write_self_test
from keras_bert.compress.quantization_parameters import QuantizationParameters
from keras_bert.compress.quantize import QuantizationAware
from keras_bert.export.quantized import export_quantized
from keras_bert.export.runtimes import TFLiteModel
from keras_bert.export.sample_texts import TEXTS
from keras_bert.models.encoder import input_names
from keras_bert.options.quantization import RECIPES
from plugins.processors import emulators
from plugins.processors.emulated import EmulatedLite, EmulatedOnnx, start_emulator
from tests.components.tuning_job import LENGTH
from tests.keras_bert.clients.exported import LENGTHS
from tests.keras_bert.export.word_tasks import SETTINGS, make_task
from tests.pipeline.command_line import refused
from tests.plugins.processors.made_files import PIECES, write_folder

pytestmark = pytest.mark.processors

X86, ARM = ("x86-64-v2", "haswell"), ("cortex-a53", "neoverse-n1")


@contextlib.contextmanager
def answering(file, processor):
    """A file on a processor, and its differences from here."""
    emulators.check_processor(processor, emulators.AARCH64_FOLDER)
    with start_emulator(file, processor, emulators.AARCH64_FOLDER) as emulator:
        is_lite = file.suffix == ".tflite"
        yield (EmulatedLite(file, emulator) if is_lite else EmulatedOnnx(file, LENGTH, emulator)), emulator


def check_numbers(task, file, share):
    """All numbers of a file on Arm, and here; `share` is the tolerance as a share of their range."""
    encoded = task.tokenizer.encode(list(TEXTS), max_length=LENGTHS[-1])
    rows = {name: np.asarray(encoded[name]) for name in input_names(task.network())}
    for processor in ARM:
        with answering(file, processor) as (model, _):
            sides = model(**rows), TFLiteModel(file)(**rows)
        there, here = (np.ravel(side[task.output_name] if isinstance(side, dict) else side) for side in sides)
        np.testing.assert_allclose(there, here, atol=share * np.ptp(here))
        # Between two steps of a grid a last bit decides; of ten texts one may have such a value.
        assert np.isclose(there, here, atol=1e-5).mean() >= 0.9


@pytest.mark.parametrize("recipe", [None, *RECIPES])
def test_every_recipe_gives_the_same_numbers(recipe, tmp_path):
    task = make_task("classification")
    network, rounding, rows = task.network(), None, None
    if recipe is not None:
        encoded = task.tokenizer.encode(list(TEXTS), max_length=LENGTHS[-1])
        rows = {name: np.asarray(encoded[name]) for name in input_names(network)}
        rounding = QuantizationParameters(recipe, QuantizationAware(network, [rows], recipe).finish())
    export_quantized(network, tmp_path / "model.tflite", LENGTHS, rounding, rows)
    check_numbers(task, tmp_path / "model.tflite", 1e-5 if recipe in (None, "float16") else 0.02)


@pytest.mark.parametrize("kind", SETTINGS)
def test_every_task_gives_the_same_numbers(kind, tmp_path):
    task = make_task(kind)
    export_quantized(task.network(), tmp_path / "model.tflite", LENGTHS, None, output=task.output_name)
    check_numbers(task, tmp_path / "model.tflite", 1e-5)


@pytest.mark.parametrize("processor", [*X86, *ARM])
def test_only_avx2_saturates_and_only_kernels_of_eight_bits(processor, tmp_path):
    differences, chance = {}, np.random.default_rng(1)
    rows = {"token_ids": chance.integers(0, len(PIECES), (4, LENGTH)), "padding_mask": np.ones((4, LENGTH), int)}
    for largest in (127, 64):
        with answering(write_folder(tmp_path / f"of-{largest}", largest) / "model.onnx", processor) as (
            model,
            emulator,
        ):
            model(**rows)
        differences[largest] = emulator.difference
    assert differences[64] == 0
    assert (differences[127] > 0.5) == (processor == "haswell"), differences


def test_refuses_avx512_of_an_emulator_without_it(tmp_path, capfd):
    line = refused(capfd, "emulate", write_folder(tmp_path / "model", 1), "--processor", "skylake-avx512")
    assert "skylake-avx512 cannot be emulated here: qemu-x86_64 has no avx512f, " in line


def test_an_illegal_instruction_is_one_line(tmp_path, monkeypatch):
    """XNNPACK believes the number of the design, here of a processor with dot products."""
    task = make_task("classification")
    encoded = task.tokenizer.encode(list(TEXTS), max_length=LENGTHS[-1])
    rows = {name: np.asarray(encoded[name]) for name in input_names(task.network())}
    ranges = QuantizationAware(task.network(), [rows], "dynamic_wi8").finish()
    rounding = QuantizationParameters("dynamic_wi8", ranges)
    export_quantized(task.network(), tmp_path / "model.tflite", LENGTHS, rounding, rows)
    wrong = emulators.PROCESSORS["cortex-a53"]._replace(part=emulators.PROCESSORS["neoverse-n1"].part)
    monkeypatch.setitem(emulators.PROCESSORS, "cortex-a53", wrong)
    with (
        pytest.raises(InputError, match=r"model\.tflite on cortex-a53: the file ended in an illegal instruction"),
        answering(tmp_path / "model.tflite", "cortex-a53") as (model, _),
    ):
        model(**rows)


@pytest.mark.parametrize(("largest", "part"), [(127, "outputs"), (64, "none")])
def test_the_self_test_of_a_folder_finds_a_processor_that_saturates(largest, part, tmp_path):
    folder = write_folder(tmp_path, largest)
    write_golden(folder, make_golden_rows(folder))
    write_self_test(folder)
    check_file(folder)
    code = f"""
from keras_bert.clients.self_test import SelfTestError, check_file

try:
    check_file({str(folder)!r})
    print("none")
except SelfTestError as error:
    print(error.part)
"""
    command = ["qemu-x86_64", "-cpu", "Haswell", sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == part
