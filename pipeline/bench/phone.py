"""The same files on a phone: through adb and LiteRT's own benchmark tool, which must be on it."""

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from components.dsl.errors import InputError
from pipeline.bench.files import USUAL_THREADS, Wanted, look

# Where Google's instructions put the tool.
TOOL = "/data/local/tmp/benchmark_model"
_FOLDER = "/data/local/tmp/keras-bert-edge"
_NUMBER = r"([\d.e+]+)"
# Lines of the tool: times in microseconds, memory in MB. Of the two lines with a median the first is of the warm-up.
_TIMES = re.compile(rf"Inference timings in us: Init: {_NUMBER}, First inference: {_NUMBER}")
_ANSWERS = re.compile(rf"count=(\d+) .*median={_NUMBER} p95={_NUMBER}")
_MEMORY = re.compile(rf"Memory footprint delta .*overall={_NUMBER}")
_DELEGATE = re.compile(r"Replacing (\d+) out of (\d+) node\(s\) with delegate \((\w+)\)")


def bench_on_phone(files: Sequence[Path], wanted: Wanted) -> dict[str, Any]:
    """Lets the phone's tool ask each signature of each file with each number of threads.

    Args:
        files: `.tflite` files that were exported here.
        wanted: what to measure; its lengths are those of signatures, its threads may be more than this machine has.

    Returns:
        Plain values: `phone`, and `files`, each with a run a signature and number of threads.

    Raises:
        InputError: there is no phone, no tool on it, or a file is none for it.
    """
    phone = find_phone()
    return {"phone": phone, "answers": wanted.answers, "files": [_bench(file, wanted) for file in files]}


def find_phone() -> str:
    """The serial number of the phone that adb talks to: of several the one that `ANDROID_SERIAL` names.

    Raises:
        InputError: there is no adb, not one phone, or no benchmark tool on it.
    """
    lines, chosen = _adb("devices").splitlines(), os.environ.get("ANDROID_SERIAL", "")
    found = [line.split("\t")[0] for line in lines if line.endswith("\tdevice")]
    phones = [phone for phone in found if chosen in ("", phone)]
    if len(phones) != 1:
        wanted = f"the phone {chosen}" if chosen else "one phone, or ANDROID_SERIAL that names one,"
        raise InputError(f"--adb must find {wanted} connected and unlocked, got {found or 'none'}")
    if "yes" not in _adb("shell", f"test -x {TOOL} && echo yes || echo no"):
        raise InputError(f"--adb must find LiteRT's benchmark_model at {TOOL} on {phones[0]}, found none")
    return phones[0]


def read_run(output: str) -> dict[str, Any]:
    """The figures in what the tool printed.

    Raises:
        InputError: they are not there.
    """
    times, answers = _TIMES.search(output), _ANSWERS.findall(output)
    if times is None or not answers:
        told = (output.strip().splitlines() or ["nothing"])[-1]
        raise InputError(f"{TOOL} must tell its times with median and p95, got {told!r}")
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


def _bench(file: Path, wanted: Wanted) -> dict[str, Any]:
    if file.suffix != ".tflite":
        raise InputError(f"--adb must be given .tflite files, which LiteRT's tool reads, got {file}")
    _, found = look(file)
    missing = sorted(set(wanted.lengths) - set(found["lengths"]))
    if missing:
        raise InputError(f"--lengths must be of the signatures {found['lengths']} of {file}, got {missing[0]}")
    place = f"{_FOLDER}/{file.name}"
    _adb("shell", f"mkdir -p {_FOLDER}")
    _adb("push", str(file), place)
    try:
        runs = [
            {"tokens": length, "threads": threads, **read_run(_ask(place, length, threads, wanted))}
            for length in wanted.lengths or found["lengths"]
            for threads in wanted.threads or USUAL_THREADS
        ]
    finally:
        _adb("shell", f"rm {shlex.quote(place)}")
    return {"file": str(file), "bytes": file.stat().st_size, "runs": runs}


def _ask(place: str, length: int, threads: int, wanted: Wanted) -> str:
    options = f"--graph={shlex.quote(place)} --signature_to_run_for=serve_{length} --num_threads={threads}"
    return _adb("shell", f"{TOOL} {options} --num_runs={wanted.answers} 2>&1")


def _adb(*command: str) -> str:
    """What it printed.

    Raises:
        InputError: there is no adb, or it failed.
    """
    program = shutil.which("adb")
    if program is None:
        raise InputError("--adb must find adb on the PATH, found none")
    done = subprocess.run([program, *command], capture_output=True, text=True, check=False)  # noqa: S603, the user's own
    if done.returncode:
        told = (done.stderr.strip() or done.stdout.strip() or "nothing").splitlines()[-1]
        raise InputError(f"adb {command[0]} must succeed, got {told}")
    return done.stdout
