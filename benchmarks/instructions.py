"""How many instructions one answer of a `.tflite` file takes on another processor, by recipe.

    python -m benchmarks.instructions --layers 6 --hidden 384 --heads 12 --emulator "qemu-aarch64 -cpu neoverse-n1 ..."

The emulator's command ends with an interpreter that has NumPy and LiteRT: `-E PYTHONPATH=.../site -L .../sysroot` and
`.../sysroot/usr/bin/python3.11` of the folder that `plugins/processors/make_aarch64.sh` makes. The instructions are
counted by a plugin of QEMU, built here with `cc`: those of three answers less those of two. They are no times, but say
what a processor is given to do. Weights are random.
"""

import argparse
import re
import shlex
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.harness.passages import make_passage
from benchmarks.harness.shapes import add_shape, config_of
from keras_bert.core.config import EncoderConfig
from keras_bert.options.quantization import RecipeName

LENGTHS = (32, 128)
RECIPES: tuple[RecipeName, ...] = ("mixed_wi8_ai8", "dynamic_wi8", "weights_wi4", "static_wi8_ai8")
_PLUGIN = Path(__file__).parent / "harness" / "count_instructions.c"


def main() -> None:
    """Prints millions of instructions for every recipe and length."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_shape(parser)
    parser.add_argument("--emulator", required=True, type=shlex.split, help="up to the interpreter, as one argument")
    options = parser.parse_args()
    config = config_of(options)
    table = Table("millions of instructions", *(f"{length}: all / sdot / fmla" for length in LENGTHS))
    with tempfile.TemporaryDirectory() as folder:
        plugin = Path(folder) / "count.so"
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", plugin, _PLUGIN], check=True)
        emulator = [options.emulator[0], "-plugin", str(plugin), *options.emulator[1:]]
        for recipe in (None, *RECIPES):
            file = export(config, recipe, Path(folder) / "model.tflite")
            counts = [count(emulator, file, length) / 1e6 for length in LENGTHS]
            table.add_row(recipe or "float32", *(" / ".join(f"{number:.1f}" for number in row) for row in counts))
    Console().print(table)


def export(config: EncoderConfig, recipe: RecipeName | None, file: Path) -> Path:
    """A classifier as a file."""
    from keras_bert.compress.quantization_parameters import QuantizationParameters
    from keras_bert.compress.quantize import QuantizationAware
    from keras_bert.export.quantized import export_quantized
    from keras_bert.models.encoder import build_encoder
    from keras_bert.tasks.classification import build_classifier

    model, passages = build_classifier(build_encoder(config), 2, pooling="mean"), [make_passage(n) for n in LENGTHS]
    rounding = (
        None if recipe is None else QuantizationParameters(recipe, QuantizationAware(model, passages, recipe).finish())
    )
    export_quantized(model, file, LENGTHS, rounding, passages[-1])
    return file


def count(emulator: list[str], file: Path, length: int) -> np.ndarray:
    """All instructions of one answer, and the products of integers and of floats among them."""
    counted = []
    for answers in (2, 3):
        command = [*emulator, "-m", "benchmarks.harness.lite_answers", str(file), str(length), str(answers)]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stderr
        match = re.search(r"^counted (\d+) (\d+) (\d+)$", output, re.MULTILINE)
        if match is None:
            raise SystemExit(f"{emulator[0]} must run plugins, got: {output[-300:]}")
        counted.append(np.array(match.groups(), np.int64))
    return counted[1] - counted[0]


if __name__ == "__main__":
    main()
