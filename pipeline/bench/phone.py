"""Measures `.tflite` files on a phone, with adb and LiteRT's benchmark tool, which must be installed there."""

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

from components.dsl.errors import InputError
from pipeline.bench.files import USUAL_THREADS, BenchOptions, inspect_file

# The path of the tool in Google's instructions.
TOOL = "/data/local/tmp/benchmark_model"
_FOLDER = "/data/local/tmp/keras-bert-edge"
_NUMBER = r"([\d.e+]+)"
# Lines of the tool: times in microseconds, memory in MB. Of the two lines with a median the first is of the warm-up.
_TIMES = re.compile(rf"Inference timings in us: Init: {_NUMBER}, First inference: {_NUMBER}")
_ANSWERS = re.compile(rf"count=(\d+) .*median={_NUMBER} p95={_NUMBER}")
_MEMORY = re.compile(rf"Memory footprint delta .*overall={_NUMBER}")
_DELEGATE = re.compile(r"Replacing (\d+) out of (\d+) node\(s\) with delegate \((\w+)\)")


def bench_on_phone(files: Sequence[Path], options: BenchOptions) -> dict[str, Any]:
    """Measures all signatures of all files on the phone, with all numbers of threads.

    The result has `phone`, and `files` with a run for every signature and number of threads.
    """
    phone = find_phone()
    results = []
    for file in files:
        if file.suffix != ".tflite":
            raise InputError(f"--adb must be given .tflite files, which LiteRT's tool reads, got {file}")
        _, facts = inspect_file(file)
        missing = sorted(set(options.lengths) - set(facts["lengths"]))
        if missing:
            raise InputError(f"--length must be of the signatures {facts['lengths']} of {file}, got {missing[0]}")
        place = f"{_FOLDER}/{file.name}"
        _adb("shell", f"mkdir -p {_FOLDER}")
        _adb("push", str(file), place)
        runs = []
        try:
            for length, threads in product(options.lengths or facts["lengths"], options.threads or USUAL_THREADS):
                command = f"{TOOL} --graph={shlex.quote(place)} --signature_to_run_for=serve_{length}"
                output = _adb("shell", f"{command} --num_threads={threads} --num_runs={options.answers} 2>&1")
                runs.append({"tokens": length, "threads": threads, **read_run(output)})
        finally:
            _adb("shell", f"rm {shlex.quote(place)}")
        results.append({"file": str(file), "bytes": file.stat().st_size, "runs": runs})
    return {"phone": phone, "answers": options.answers, "files": results}


def find_phone() -> str:
    """The serial number of the connected phone, or of the one in `ANDROID_SERIAL` if there are several."""
    lines, chosen = _adb("devices").splitlines(), os.environ.get("ANDROID_SERIAL", "")
    connected = [line.split("\t")[0] for line in lines if line.endswith("\tdevice")]
    phones = [phone for phone in connected if chosen in ("", phone)]
    if len(phones) != 1:
        target = f"the phone {chosen}" if chosen else "one phone, or ANDROID_SERIAL that names one,"
        raise InputError(f"--adb must find {target} connected and unlocked, got {connected or 'none'}")
    if "yes" not in _adb("shell", f"test -x {TOOL} && echo yes || echo no"):
        raise InputError(f"--adb must find LiteRT's benchmark_model at {TOOL} on {phones[0]}, found none")
    return phones[0]


def read_run(output: str) -> dict[str, Any]:
    """Reads the figures in the tool's output."""
    times, answers = _TIMES.search(output), _ANSWERS.findall(output)
    if times is None or not answers:
        last_line = (output.strip().splitlines() or ["nothing"])[-1]
        raise InputError(f"{TOOL} must print its times with median and p95, got {last_line!r}")
    memory, delegate = _MEMORY.search(output), _DELEGATE.search(output)
    count, median, high = answers[-1]
    return {
        "open_milliseconds": float(times[1]) / 1000,
        "first_milliseconds": float(times[2]) / 1000,
        "answers": int(count),
        "milliseconds": {"p50": float(median) / 1000, "p95": float(high) / 1000},
        "own_megabytes": None if memory is None else float(memory[1]),
        "delegate": delegate and {"name": delegate[3], "nodes": int(delegate[2]), "taken": int(delegate[1])},
    }


def _adb(*command: str) -> str:
    program = shutil.which("adb")
    if program is None:
        raise InputError("--adb must find adb on the PATH, found none")
    done = subprocess.run([program, *command], capture_output=True, text=True, check=False)  # noqa: S603, the user's own
    if done.returncode:
        last_line = (done.stderr.strip() or done.stdout.strip() or "nothing").splitlines()[-1]
        raise InputError(f"adb {command[0]} must succeed, got {last_line}")
    return done.stdout
