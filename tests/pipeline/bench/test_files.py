"""Files side by side, each asked in a process of its own."""

import json
import zipfile

import pytest
from rich.console import Console

from components.dsl.errors import InputError
from pipeline.bench import files as bench_files
from pipeline.bench.files import BenchOptions, bench, inspect_file, run_child
from pipeline.views.bench import bench_tables
from tests.pipeline.command_line import refused, said

NO_FILE = "must be a .tflite, .onnx"


def test_both_kinds_stand_side_by_side(files, capsys):
    arguments = [str(files / "model.tflite"), str(files / "model.onnx"), "--threads", "1", "--answers", "10"]
    content = json.loads(said(capsys, "describe", "--time", *arguments, "--operations", "--json"))
    lite, onnx = content["files"]
    assert [lite["runtime"], onnx["runtime"]] == ["LiteRT", "ONNX Runtime"]
    assert lite["lengths"] == onnx["lengths"] == [8, 16], "what takes any length is asked about the other's"
    assert 0 < lite["delegate"]["taken"] < lite["delegate"]["nodes"]
    for file in content["files"]:
        (run,) = file["threads"]
        assert list(run["milliseconds"]) == ["8", "16"]
        assert all(
            0 < percentiles["p50"] <= percentiles["p90"] <= percentiles["p99"]
            for percentiles in run["milliseconds"].values()
        )
        assert run["open_milliseconds"] > 0
        assert run["first_milliseconds"] > 0
        assert 0 < run["own_megabytes"] < run["peak_megabytes"]
    kinds = {operation["name"] for operation in onnx["profile"]["operations"]}
    assert {"MatMul", "Softmax"} <= kinds
    assert "profile" not in lite
    for table in bench_tables(content):
        table.show(Console(width=200))
    shown = capsys.readouterr().out
    assert "XNNPACK runs" in shown
    assert "model.onnx, 16 tokens" in shown


def _text(files, folder):
    (folder / "text.tflite").write_text("some text")
    return folder / "text.tflite"


def _damaged(files, folder):
    """The front of the model is gone, what is attached to it is not."""
    content = (files / "model.tflite").read_bytes()
    (folder / "model.tflite").write_bytes(b"nothing" * 100 + content[2000:])
    return folder / "model.tflite"


def _cut(files, folder):
    (folder / "model.onnx").write_bytes((files / "model.onnx").read_bytes()[:3000])
    return folder / "model.onnx"


def _without_length(files, folder):
    with zipfile.ZipFile(folder / "model.tflite", "w") as archive:
        archive.writestr("task.json", '{"task": "classification", "max_length": "long"}')
        archive.writestr("vocab.txt", "a\n")
    return folder / "model.tflite"


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (
            lambda files, folder: folder / "model.tflite",
            NO_FILE,
        ),
        (lambda files, folder: files, NO_FILE),
        (_text, "must be a file that was pushed or exported here"),
        (_damaged, "must be a .tflite file: "),
        (_cut, "must be an .onnx file: "),
        (_without_length, "must hold its vocabulary and a whole number as max_length"),
    ],
)
def test_what_is_no_file_from_here_is_one_line(files, tmp_path, spoil, message):
    with pytest.raises(InputError) as refused:
        inspect_file(spoil(files, tmp_path))
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lengths": (2,)}, "--length must be at least 3 each, got [2]"),
        ({"threads": (0,)}, "--threads must be at least 1 each, got [0]"),
        ({"threads": (5,)}, "--threads must be at most the 4 processors, got 5"),
        ({"answers": 9}, "--answers must be at least 10, got 9"),
        ({"operations": True, "here": False}, "--operations must be left out with --adb"),
    ],
)
def test_what_cannot_be_measured(options, message, monkeypatch):
    monkeypatch.setattr(bench_files, "usable_processors", lambda: 4)
    with pytest.raises(InputError) as refused:
        BenchOptions(**options)
    assert str(refused.value).startswith(message)


def test_rows_longer_than_a_file_reads_are_refused(files):
    with pytest.raises(InputError, match=r"--length must be at most 16 for .*model\.onnx, got 17"):
        bench([files / "model.onnx"], BenchOptions(lengths=(17,)))


def test_a_process_that_falls_is_one_line(files, monkeypatch):
    inspection, _ = inspect_file(files / "model.onnx")

    def told_by(script):
        (files / "child.sh").write_text(f"#!/bin/sh\n{script}\n")
        (files / "child.sh").chmod(0o755)
        monkeypatch.setattr(bench_files.sys, "executable", str(files / "child.sh"))
        with pytest.raises(InputError) as refused:
            run_child("inside", inspection)
        return str(refused.value).partition(".onnx ")[2]

    assert told_by("kill -SEGV $$") == "must be a file that its runtime can read: it ended with SIGSEGV"
    assert told_by("echo a; echo 'no memory' >&2; exit 1") == "must be a file that its runtime can run: no memory"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Missing argument 'FILE...'. (see keras-bert-edge describe --help)"),
        (["a.onnx", "--length", "8"], "--length must be left out without --time, got 8"),
        (["a.onnx", "--operations"], "--operations must be left out without --time"),
        (["a.onnx", "--time", "--accelerators"], "--accelerators must be left out with --time"),
        (["a.onnx", "b.onnx", "--json"], "FILE must be one file with --json, got 2"),
        (["a.onnx", "--time", "--length", "2"], "--length must be at least 3 each, got [2]"),
    ],
)
def test_options_that_do_not_go_together_are_refused(capfd, arguments, message):
    assert refused(capfd, "describe", *arguments) == message
