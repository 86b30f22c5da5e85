"""`emulate` and the step of `[processors]`, with programs in place of an emulator: the same file, another, faults."""

import os
import platform
import re

import pytest

from components.artifacts.evaluation import FurtherModels
from components.artifacts.standard import EdgeModel
from components.examples.registry import read_rows
from components.scoring.registry import TASK_SCORING
from keras_bert.export.bundle import load_exported
from pipeline.cli import main
from plugins.processors import emulators
from plugins.processors.measure_processors import measure_processors
from tests.components import tuning_job
from tests.pipeline.command_line import refused, said
from tests.pipeline.settings.texts import CHECKPOINT, EXAMPLES, load, refusal, write_checkpoint
from tests.plugins.processors.made_files import write_emulator, write_folder

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="x86-64 runs its own Python in the emulator")


@pytest.fixture
def emulator(tmp_path, monkeypatch):
    """Writes the program that is the emulator, see `write_emulator`."""
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    emulators._probe.cache_clear()
    yield lambda body="", file=None: write_emulator(tmp_path / "bin", body, file)
    emulators._probe.cache_clear()


def test_outputs_of_this_machine_are_as_here(tmp_path, emulator, capfd):
    emulator()
    printed = said(capfd, "emulate", write_folder(tmp_path / "model", 127), "--processor", "haswell")
    assert "model.onnx" in printed
    assert "0 %" in printed
    assert "as here" in printed


def test_other_outputs_have_status_3(tmp_path, emulator, capfd):
    folder, other = write_folder(tmp_path / "model", 127), write_folder(tmp_path / "other", 100)
    emulator(file=other / "model.onnx")
    assert main(["emulate", str(folder / "model.onnx"), "--processor", "haswell"]) == 3
    assert "differs" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("body", "line"),
    [
        (
            'echo "warning: TCG doesn\'t support requested feature: CPUID.07H:EBX.avx512f [bit 16]" >&2',
            "processors: haswell cannot be emulated here: qemu-x86_64 has no avx512f; leave haswell out, or install an "
            "emulator that has them",
        ),
        (
            "echo \"unable to find CPU model '$2'\" >&2; exit 1",
            "processors: haswell cannot be emulated here: unable to find CPU model 'Haswell'; leave haswell out, or "
            "install a newer qemu-user",
        ),
        (
            '[ "$3" = -E ] || exit 0; kill -ILL $$',
            "processors: model.onnx on haswell: the file ended in an illegal instruction, which this processor does "
            "not have",
        ),
        (
            '[ "$3" = -E ] || exit 0; echo no memory >&2; exit 7',
            "processors: model.onnx on haswell: the process ended with status 7: no memory",
        ),
    ],
)
def test_refuses_in_one_line(tmp_path, emulator, body, line, capfd):
    emulator(body)
    assert refused(capfd, "emulate", write_folder(tmp_path / "model", 1), "--processor", "haswell") == line


def test_refuses_a_file_that_the_other_process_cannot_open(tmp_path, emulator, capfd):
    (tmp_path / "broken.onnx").write_bytes(b"\0" * 99)
    emulator(file=tmp_path / "broken.onnx")
    line = refused(capfd, "emulate", write_folder(tmp_path / "model", 1), "--processor", "haswell")
    assert line.startswith("processors: model.onnx on haswell cannot answer: ")


def test_refuses_a_folder_without_a_file_and_names_its_versions(tmp_path, emulator, capfd):
    emulator()
    (tmp_path / "pushed/1").mkdir(parents=True)
    line = refused(capfd, "emulate", tmp_path / "pushed", "--processor", "haswell")
    assert line.startswith(
        f"MODEL must be a pushed folder with a .tflite or .onnx file, got {tmp_path / 'pushed'}, wit"
    )
    line = refused(capfd, "emulate", tmp_path / "pushed/1", "--processor", "haswell")
    assert line.endswith("/pushed/1, without one")


def test_names_the_way_to_an_emulator(tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("PATH", str(tmp_path))
    folder = write_folder(tmp_path / "model", 1)
    line = refused(capfd, "emulate", folder, "--processor", "haswell")
    assert line == ("processors: haswell needs qemu-x86_64, which is not on this machine: apt-get install qemu-user")
    (tmp_path / "qemu-aarch64").write_text("#!/bin/sh\n")
    (tmp_path / "qemu-aarch64").chmod(0o755)
    line = refused(capfd, "emulate", folder, "--processor", "cortex-a53", "--aarch64", tmp_path / "none")
    assert "cortex-a53 needs a folder with a Python for aarch64" in line
    assert f"make_aarch64.sh {tmp_path / 'none'} " in line


def test_rows_have_the_scores_of_the_emulated_file(tmp_path, emulator):
    tuning_job.write_checkpoint(tmp_path)
    line = tuning_job.Line("classification", tmp_path, tmp_path)
    edge = EdgeModel(write_folder(tmp_path / "edge", 64))
    other = write_folder(tmp_path / "other", 127)
    edge.seal({})
    rows = read_rows(line.examples, "test")[:3]
    given = {"examples": line.examples, "teachers": [line.blank], "students": [], "edges": [edge], "rows": 3}
    scoring, scores = TASK_SCORING["classification"], {}
    for name, file in (("same", None), ("other", other / "model.onnx")):
        emulator(file=file)
        further = FurtherModels(tmp_path / f"{name}-rows")
        with tuning_job.eagerly():
            measure_processors.run(**given, further=further, processors=("haswell",), max_export_loss=100.0)
        table, verdicts, causes, _ = further.read()
        assert list(table) == ["model.onnx on haswell, 3 rows"]
        answers = scoring.answer(load_exported((file or edge.file("model.onnx")).parent), rows)
        expected = scoring.score(rows, answers, ["animal", "plant"]).metrics
        assert {key: score.mean for key, score in table["model.onnx on haswell, 3 rows"].metrics.items()} == expected
        (loss_holds, loss), (is_same, difference) = verdicts
        assert loss_holds
        assert "must not be significantly below the teacher's" in loss
        assert "at most processors.max_difference 1 %" in difference
        scores[name] = is_same
        # The processor is the cause of the difference, and of nothing that holds.
        assert list(causes) == ([] if is_same else [difference])
        assert all(
            re.fullmatch(
                r"model\.onnx has other outputs on haswell than on this machine, by [0-9.]+ % of their range .*", cause
            )
            for cause in causes.values()
        )
    assert scores == {"same": True, "other": False}


JOB = CHECKPOINT + EXAMPLES + '[processors]\nnames = ["haswell"]\n'


@pytest.mark.parametrize(
    ("setting", "line"),
    [
        ("evaluation.accelerator_rows=0", "evaluation.accelerator_rows must be above 0 with [processors]"),
        ("export.runtimes=['saved_model']", "export.runtimes must hold tflite, onnx or transformers_js with"),
        ("processors.files=['model.bin']", "processors.files must hold only model.tflite, "),
        (
            "processors.files=['transformers_js/onnx/model_int8.onnx']",
            "processors.files must be files that the job exports, got 'transformers_js/onnx/model_int8.onnx'; add "
            "'transformers_js' to export.runtimes, or leave the file out",
        ),
        (
            "processors.files=['model.tflite']",
            "processors.files must be files that the job exports, got 'model.tflite'; add [quantization], or name "
            "model_float32.tflite",
        ),
        ("processors.max_difference=0.0", "processors.max_difference must be positive, got 0.0"),
        ("processors.names=['haswell', 'haswell']", "processors.names must hold different items"),
        ("processors.names=['pentium']", "processors.names"),
    ],
)
def test_refuses_settings(tmp_path, setting, line):
    write_checkpoint(tmp_path)
    assert load(tmp_path, JOB).processors.names == ("haswell",)
    assert refusal(tmp_path, JOB, setting).startswith(line)


@pytest.mark.parametrize(
    ("recipe", "is_exported"), [("", False), ("float16", False), ("static_wi8_ai16", False), ("dynamic_wi8", True)]
)
def test_refuses_a_file_of_ranges_that_the_model_will_not_have(tmp_path, recipe, is_exported):
    write_checkpoint(tmp_path)
    text = JOB + "files = ['transformers_js/onnx/model_int8.onnx']\n[export]\n"
    text += "runtimes = ['tflite', 'onnx', 'transformers_js']\n"
    text += f"[quantization]\nrecipe = '{recipe}'\n" if recipe else ""
    if is_exported:
        assert load(tmp_path, text).processors.files
        return
    assert refusal(tmp_path, text) == (
        "processors.files must be files that the job exports, got 'transformers_js/onnx/model_int8.onnx', which a "
        "model with ranges of int8 alone has; add [quantization] with an int8 recipe, or name "
        "transformers_js/onnx/model_quantized.onnx"
    )
