"""A machine's speed as one JSON file: for machines that nobody here has, such as a Raspberry Pi, a Mac or AVX2 alone.

    python -m benchmarks.report_machine --out machine.json

Run it with nothing else running, and send the file. It names the processor, its instructions,
memory and versions, but no user, host or path. Every section runs in a process of its own: one that fails, as where a
library has no wheel, stands in the file with its last line, and the others are measured all the same.

- `products`: operations a second of square products in float32, bfloat16 and int8.
- `inference`: milliseconds for one passage on one thread, MiniLM's shape, `.tflite` and ONNX Runtime, as in
  `benchmarks.inference` without its peers.
- `answers`: milliseconds of `task.predict` for one text of 32 tokens by Keras, MiniLM's shape.
- `training`: tokens a second of pre-training, 4 layers of 256, batches of 32 x 128, as in `benchmarks.train`.
"""

import argparse
import importlib.metadata
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import psutil

from keras_bert.core.processor import native_precision, usable_processors

PACKAGES = ("tensorflow", "keras", "ai-edge-litert", "onnxruntime", "numpy")
# Those that decide which kernels libraries choose, of x86 and of Arm.
_X86 = ("avx2", "avx512f", "avx512_vnni", "avx_vnni", "avx512_bf16", "amx_int8", "amx_bf16")
INSTRUCTIONS = (*_X86, "asimddp", "i8mm", "bf16", "sve")
_MINILM = {"num_layers": 6, "hidden_size": 384, "num_heads": 12, "intermediate_size": 1536, "max_length": 128}
_TEXT = " ".join(["film"] * 30)  # 32 tokens with the special ones
_SECONDS = 2.0


def main() -> None:
    """Writes the file, or prints the JSON of one section."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("machine.json"))
    parser.add_argument("--sections", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    parser.add_argument("--layers", type=int, default=_MINILM["num_layers"], help="of MiniLM's, to try it out")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--serve", choices=SECTIONS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        print(json.dumps(SECTIONS[options.serve](options)))
        return
    report: dict[str, Any] = {"machine": describe_machine()}
    for name in options.sections:
        print(f"{name} ...", file=sys.stderr, flush=True)
        report[name] = run_section(name, options)
    options.out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    print(f"written: {options.out}")


def describe_machine() -> dict[str, Any]:
    """The processor, the system and the versions of libraries."""
    names = _processor_lines()
    flags = set((names.get("flags") or names.get("Features") or "").split())
    return {
        "processor": names.get("model name") or platform.processor() or platform.machine(),
        "architecture": platform.machine(),
        "instructions": [name for name in INSTRUCTIONS if name in flags],
        "cores": os.cpu_count(),
        "memory_gigabytes": round(psutil.virtual_memory().total / 1e9, 1),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in PACKAGES},
        "native_precision": native_precision(),
        "load": round(psutil.cpu_percent(1.0), 1),
    }


def _processor_lines() -> dict[str, str]:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:  # no Linux
        return {}
    pairs = (line.partition(":") for line in lines)
    return {name.strip(): value.strip() for name, _, value in pairs}


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def run_section(name: str, options: argparse.Namespace) -> Any:
    """The figures of a section, or why there are none."""
    arguments = ["--serve", name, "--layers", str(options.layers), "--rounds", str(options.rounds)]
    command = [sys.executable, "-m", "benchmarks.report_machine", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"})
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no message"]
        return {"failed": lines[-1], "status": done.returncode}
    return json.loads(done.stdout.splitlines()[-1])


def measure_products(options: argparse.Namespace) -> dict[str, float]:
    """10^9 operations a second."""
    from benchmarks.inference import measure_peak
    from benchmarks.train import MATRIX, PEAKS, product

    floats = {peak.removeprefix("peak "): 2 * MATRIX**3 / time_call(product(peak), options.rounds) for peak in PEAKS}
    return {
        name: round(speed / 1e9, 1) for name, speed in {**floats, "int8": measure_peak(usable_processors())}.items()
    }


def measure_inference(options: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Contestant -> length -> milliseconds."""
    from benchmarks.harness.contestants import race
    from benchmarks.harness.passages import LENGTHS
    from benchmarks.inference import export

    with tempfile.TemporaryDirectory() as folder:
        ours, peers = export(_minilm(options), Path(folder))
        contestants = ours | peers
        by_length = {length: race(contestants, length, options.rounds) for length in LENGTHS}
    return {
        name: {str(length): round(1000 * seconds[name], 3) for length, seconds in by_length.items()}
        for name in contestants
    }


def measure_answers(options: argparse.Namespace) -> dict[str, float]:
    """Milliseconds of a text, tokenized and answered by Keras."""
    import keras_bert
    from keras_bert.models.encoder import build_encoder
    from keras_bert.tokenizers.tokenizer import Tokenizer
    from keras_bert.tokenizers.wordpiece_vocabulary import SPECIAL_TOKENS

    config = _minilm(options)
    entries = [*SPECIAL_TOKENS, "film", *(f"[unused{number}]" for number in range(config.vocabulary_size))]
    tokenizer = Tokenizer(entries[: config.vocabulary_size], lowercase=True)
    task = keras_bert.TASKS["classification"].build(build_encoder(config), tokenizer, labels=["no", "yes"])
    return {"predict": round(1000 * time_call(lambda: task.predict([_TEXT]), options.rounds), 3)}


def measure_training(options: argparse.Namespace) -> dict[str, float]:
    """Tokens a second by mode."""
    from benchmarks.harness.bert_shapes import SHAPES
    from benchmarks.train import our_step

    shape = SHAPES["L4 H256"]
    modes = ["float32 XLA parts", *(["bfloat16 XLA parts"] if native_precision() == "bfloat16" else [])]
    return {mode: round(shape.tokens / time_call(our_step(mode, shape), options.rounds), 1) for mode in modes}


def time_call(call: Callable[[], Any], rounds: int) -> float:
    """The median seconds of a call, over rounds of two seconds together or one call each; a first call compiles."""
    call()
    seconds = []
    for _ in range(rounds):
        start, calls = time.perf_counter(), 0
        while not calls or time.perf_counter() - start < _SECONDS / rounds:
            call()
            calls += 1
        seconds.append((time.perf_counter() - start) / calls)
    return statistics.median(seconds)


def _minilm(options: argparse.Namespace) -> Any:
    from benchmarks.harness.passages import VOCABULARY
    from keras_bert.core.config import EncoderConfig

    shape = {**_MINILM, "num_layers": options.layers}
    return EncoderConfig(vocabulary_size=VOCABULARY, activation="gelu_erf", **shape)


SECTIONS: Mapping[str, Callable[[argparse.Namespace], Any]] = {
    "products": measure_products,
    "inference": measure_inference,
    "answers": measure_answers,
    "training": measure_training,
}


if __name__ == "__main__":
    main()
