"""A phone behind adb: no phone is here, but what adb and LiteRT's benchmark tool print is known."""

import pytest

from components.dsl.errors import InputError
from pipeline.bench.files import BenchOptions
from pipeline.bench.phone import bench_on_phone, find_phone, read_run
from pipeline.cli import main
from pipeline.views.bench import phone_table

# As the tool prints; the numbers are made up.
PRINTED = """INFO: Replacing 86 out of 95 node(s) with delegate (TfLiteXNNPackDelegate) node, yielding 2 partitions.
INFO: count=9 first=87112 curr=51629 min=51629 max=87112 avg=58147.4 std=11478 p5=51629 median=51962 p95=87112
INFO: count=50 first=1249 curr=1240 min=1238 max=1252 avg=1.24027e+06 std=2565 p5=1238 median=1239 p95=1247
INFO: Inference timings in us: Init: 5579, First inference: 13570, Warmup (avg): 1.3e+06, Inference (avg): 1.24e+06
INFO: Memory footprint delta from the start of the tool (MB): init=6.36328 overall=10.5
"""


@pytest.fixture
def adb(tmp_path, monkeypatch):
    """A folder whose `adb` keeps what it is asked, and prints what the files in it say."""
    folder = tmp_path / "adb"
    folder.mkdir()
    (folder / "devices").write_text("List of devices attached\nabc123\tdevice\n\n")
    (folder / "tool").write_text("yes\n")
    (folder / "printed").write_text(PRINTED)
    script = f"""#!/bin/sh
echo "$@" >> {folder}/asked
case "$*" in
devices) /bin/cat {folder}/devices;;
*test*) /bin/cat {folder}/tool;;
*--graph*) /bin/cat {folder}/printed;;
esac
"""
    (folder / "adb").write_text(script)
    (folder / "adb").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("ANDROID_SERIAL", raising=False)
    return folder


def test_each_signature_is_asked_with_each_number_of_threads(adb, files):
    content = bench_on_phone([files / "model.tflite"], BenchOptions(threads=(1, 8), answers=50, here=False))
    assert content["phone"] == "abc123"
    calls = [line for line in (adb / "asked").read_text().splitlines() if "--graph" in line]
    runs = [(line.partition("serve_")[2].split()[0], line.partition("num_threads=")[2].split()[0]) for line in calls]
    assert runs == [("8", "1"), ("8", "8"), ("16", "1"), ("16", "8")]
    assert all("--num_runs=50" in line for line in calls)
    assert (adb / "asked").read_text().splitlines()[-1] == "shell rm /data/local/tmp/keras-bert-edge/model.tflite"
    size = f"{(files / 'model.tflite').stat().st_size / 1e6:.2f}"
    expected = ["model.tflite", size, "1", "8", "5.58", "13.57", "1.24", "1.25", "10.5", "86 of 95 nodes"]
    assert phone_table(content).rows[0] == expected


def test_the_tools_figures():
    figures = read_run(PRINTED)
    assert figures["milliseconds"] == {"p50": 1.239, "p95": 1.247}
    assert figures["answers"] == 50
    assert figures["delegate"] == {"name": "TfLiteXNNPackDelegate", "nodes": 95, "taken": 86}
    without = read_run("\n".join(PRINTED.splitlines()[1:4]))
    assert (without["delegate"], without["own_megabytes"]) == (None, None)
    with pytest.raises(InputError, match="must print its times with median and p95, got 'not a model'"):
        read_run("some line\nnot a model\n")


def test_no_phone_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match=r"^--adb must find adb on the PATH, found none$"):
        find_phone()


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("devices", "List of devices attached\n\n", "must find one phone, .* connected and unlocked, got none"),
        ("devices", "a\tdevice\nb\tdevice\n", r"must find one phone, .*, got \['a', 'b'\]"),
        ("devices", "a\tunauthorized\n", "must find one phone, .*, got none"),
        ("tool", "no\n", "must find LiteRT's benchmark_model at /data/local/tmp/benchmark_model on abc123, found none"),
    ],
)
def test_what_is_missing_on_the_way_to_a_phone(adb, file, content, message):
    (adb / file).write_text(content)
    with pytest.raises(InputError, match=message):
        find_phone()


def test_of_several_phones_one_is_named(adb, monkeypatch):
    (adb / "devices").write_text("a\tdevice\nb\tdevice\n")
    monkeypatch.setenv("ANDROID_SERIAL", "b")
    assert find_phone() == "b"
    monkeypatch.setenv("ANDROID_SERIAL", "c")
    with pytest.raises(InputError, match=r"must find the phone c connected and unlocked, got \['a', 'b'\]"):
        find_phone()


def test_files_that_are_none_for_a_phone(adb, files):
    with pytest.raises(InputError, match=r"must be given \.tflite files"):
        bench_on_phone([files / "model.onnx"], BenchOptions(here=False))
    with pytest.raises(InputError, match=r"--length must be of the signatures \[8, 16\] of .*, got 9"):
        bench_on_phone([files / "model.tflite"], BenchOptions(lengths=(9,), here=False))


def test_a_failed_adb_is_told(adb, capfd):
    (adb / "adb").write_text("#!/bin/sh\necho 'no permissions' >&2\nexit 1\n")
    assert main(["describe", "--time", "model.tflite", "--adb"]) == 2
    assert capfd.readouterr().err == "error: adb devices must succeed, got no permissions\n"
