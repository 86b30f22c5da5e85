"""Copies of the examples with a pushed model in them, as their pages say."""

import json
import re
import shutil
import subprocess

import numpy as np
import pytest

from keras_bert.clients.golden import add_calibrated_answers, make_golden_rows, write_golden
from keras_bert.clients.page import write_tokenizers
from keras_bert.core.folders import GOLDEN_FILE, METRICS_FILE
from tests.docs.blocks import REPOSITORY, read_blocks
from tests.keras_bert.clients.exported import LENGTHS, export_folder
from tests.keras_bert.export.word_tasks import make_task

_COPIES = re.compile(r"^(mkdir|cp|\{) .*", re.MULTILINE)


def copy_example(name, folder):
    """A copy of an example with a pushed classifier, and the rows of its `golden.json`."""
    pushed, place = folder / "pushed", folder / name
    pushed.mkdir()
    export_folder(make_task("classification"), pushed)
    (pushed / "model_float32.tflite").rename(pushed / "model.tflite")
    (pushed / "export.json").write_text(json.dumps({"model.tflite": {"lengths": LENGTHS}}))
    write_tokenizers(pushed)
    write_golden(pushed, make_golden_rows(pushed))
    rows = calibrate(pushed, {"temperature": 1.5})
    # Sure of some rows only.
    rows = calibrate(pushed, {"temperature": 1.5, "threshold": np.median(list(map(_probability_of, rows)))})
    assert {row["calibrated"]["is_sure"] for row in rows} == {True, False}
    shutil.copytree(REPOSITORY / "examples" / name, place)
    (block,) = (block for block in read_blocks((place / "README.md").read_text(), name) if block.language == "sh")
    commands = [f"PUSHED={pushed}", *(match[0] for match in _COPIES.finditer(block.code))]
    subprocess.run(["sh", "-e", "-c", "\n".join(commands)], cwd=place, check=True)
    return place, rows


def calibrate(folder, calibration):
    """Writes a calibration into a folder; returns the rows of its `golden.json` with the calibrated answers."""
    metrics = json.loads((folder / METRICS_FILE).read_text())
    (folder / METRICS_FILE).write_text(json.dumps({**metrics, "calibration": calibration}))
    add_calibrated_answers(folder)
    return json.loads((folder / GOLDEN_FILE).read_text())


def _probability_of(row):
    return float(row["calibrated"]["probability"])


def check_answers(lines, rows, tolerance=1e-5):
    """Compares the label, the probability and the sureness of each line with those of a row."""
    for line, row in zip(lines, rows, strict=True):
        label, probability, is_sure = line.split("\t")
        expected = row["calibrated"]
        assert (label, is_sure) == (expected["label"], str(expected["is_sure"]).lower())
        assert float(probability) == pytest.approx(expected["probability"], abs=tolerance)
