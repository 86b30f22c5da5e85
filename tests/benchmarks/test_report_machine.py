"""The report of a machine is one JSON file: sections that fail say why, and nothing names the user."""

import argparse
import getpass
import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("tensorflow", reason="the machine is measured by TensorFlow, LiteRT and ONNX Runtime")
from benchmarks import report_machine


def test_a_section_is_measured_in_its_own_process(tmp_path):
    out = tmp_path / "machine.json"
    arguments = ["--out", str(out), "--sections", "products", "--rounds", "1"]
    subprocess.run([sys.executable, "-m", "benchmarks.report_machine", *arguments], check=True, capture_output=True)
    report = json.loads(out.read_text())
    assert list(report) == ["machine", "products"]
    assert report["machine"]["cores"] >= 1
    assert report["machine"]["versions"]["tensorflow"]
    assert all(speed > 0.1 for speed in report["products"].values()), report["products"]
    assert str(Path.home()) not in out.read_text()
    assert f'"{getpass.getuser()}"' not in out.read_text()


def test_a_section_that_fails_says_why(monkeypatch):
    monkeypatch.setattr(report_machine.sys, "executable", "/bin/false")
    options = argparse.Namespace(layers=1, rounds=1)
    assert report_machine.run_section("training", options) == {"failed": "no message", "status": 1}


def test_all_products_run_on_all_processors(monkeypatch):
    monkeypatch.setattr(report_machine, "usable_processors", lambda: 3)
    monkeypatch.setattr(report_machine, "time_call", lambda call, rounds: 1.0)
    monkeypatch.setattr("benchmarks.inference.measure_peak", lambda threads=1: 1e9 * threads)
    assert report_machine.measure_products(argparse.Namespace(rounds=1))["int8"] == 3.0


def test_times_are_of_one_call():
    calls = []
    seconds = report_machine.time_call(lambda: calls.append(None), rounds=1)
    assert seconds == pytest.approx(report_machine._SECONDS / (len(calls) - 1), rel=0.2)
