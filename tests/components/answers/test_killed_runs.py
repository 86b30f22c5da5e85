"""The command on larger tables: killed at any time it goes on, and its memory does not grow with the rows."""

import itertools
import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from components.answers.work_folder import work_folder
from tests.components.answers.test_model_handler import build, sample_texts, write

pytestmark = pytest.mark.long

ROWS = 20_000
_PEAK = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL); "
_PEAK += "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return write(build("classification"), tmp_path_factory.mktemp("model"), "tflite")


def write_rows(file, count):
    texts = itertools.cycle(sample_texts(1000, 0))
    with file.open("w") as stream:
        stream.write("n,text\n")
        for number, text in zip(range(count), texts, strict=False):
            stream.write(f"{number},{text if number % 5000 else ''}\n")
    return file


def command(model, table, out, workers):
    arguments = ["--table", str(table), "--text", "text", "--out", str(out), "--set", f"beam.workers={workers}"]
    return [sys.executable, "-m", "keras_bert_edge", "predict", str(model), *arguments]


def finished_parts(out):
    return sum(1 for _ in (work_folder(out) / "parts").glob("[0-9]*.arrow"))


def test_a_command_that_was_killed_goes_on(model, tmp_path):
    table = write_rows(tmp_path / "rows.csv", ROWS)
    expected, out = tmp_path / "expected.parquet", tmp_path / "out.parquet"
    subprocess.run(command(model, table, expected, 2), check=True, capture_output=True)
    done = 0
    for goal in (0, 4, 12, 30):
        with subprocess.Popen(command(model, table, out, 1 + goal % 2), stdout=subprocess.DEVNULL) as process:
            while process.poll() is None and not (work_folder(out).is_dir() and finished_parts(out) >= goal):
                time.sleep(0.01)
            os.kill(process.pid, signal.SIGKILL)
        assert finished_parts(out) >= done, "a finished part stays"
        done = finished_parts(out)
        assert goal <= done < 38, "it was killed in the middle"
        assert not out.exists()
        assert not (tmp_path / "out.parquet.errors.jsonl").exists()
    result = subprocess.run(command(model, table, out, 2), check=True, capture_output=True, text=True)
    resumed, chunks = map(int, re.findall(r"^(\d+) of (\d+) chunks were there", result.stdout, re.MULTILINE)[0])
    assert (resumed, chunks) == (done, 38)
    assert out.read_bytes() == expected.read_bytes()
    errors = [json.loads(line) for line in (tmp_path / "out.parquet.errors.jsonl").read_text().splitlines()]
    assert [error["row"] for error in errors] == [1, 5001, 10001, 15001]
    assert not work_folder(out).exists()


def test_memory_does_not_grow_with_the_rows(model, tmp_path):
    peaks = []
    for count in (ROWS, 20 * ROWS):
        table = write_rows(tmp_path / f"rows{count}.csv", count)
        arguments = command(model, table, tmp_path / f"out{count}.parquet", 1)
        result = subprocess.run([sys.executable, "-c", _PEAK, *arguments], check=True, capture_output=True, text=True)
        peaks.append(int(result.stdout))
    assert peaks[1] < 1.25 * peaks[0], peaks
