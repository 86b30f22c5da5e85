"""Arm's Ethos-U, for microcontrollers: files of integers are compiled by Vela for LiteRT for Microcontrollers."""

import csv
import re
import sys
from collections import Counter
from pathlib import Path

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from keras_bert.accelerators.base import AcceleratorError, Coverage
from keras_bert.export.sharing import read_model
from plugins.accelerators.microcontrollers import Microcontroller, keep_integers
from plugins.accelerators.tools import find_reason, run_tool

_COUNTS = re.compile(r"^(CPU|NPU) operators = (\d+)", re.MULTILINE)
_LEFT = re.compile(r"^Warning \(supported operators\) operator: (\w+)[^\n]*\n(?:Reason: |\s*- )?([^\n]*)", re.MULTILINE)
# Column of Vela's summary -> our name, and the factor of its unit.
_FIGURES = {
    "inference_time": ("milliseconds, estimated", 1e3),
    "sram_memory_used": ("KB of SRAM", 1.024),
    "dram_memory_used": ("KB of DRAM", 1.024),
    "off_chip_flash_memory_used": ("KB of flash", 1.024),
}
# The interpreter's own structures, in bytes on a processor of 64 bits, where they take most: for a file, a tensor, and
# an operation with what its kernel keeps (410 bytes on average for a whole BERT, most of them for `FULLY_CONNECTED`,
# which Vela takes).
_FILE, _TENSOR, _OPERATION = 4096, 24, 576
_BYTES = {schema.TensorType.INT32: 4, schema.TensorType.FLOAT32: 4}
_PLAN = b"OfflineMemoryAllocation"


class EthosU(Microcontroller):
    """An Ethos-U of a family and a number of multipliers."""

    chips = (
        *(f"ethos-u55-{units}" for units in (32, 64, 128, 256)),
        *(f"ethos-u65-{units}" for units in (256, 512)),
        *(f"ethos-u85-{units}" for units in (128, 256, 512, 1024, 2048)),
    )
    usual = ("ethos-u55-128", "ethos-u65-256", "ethos-u85-256")
    package = "ethosu"

    def compile(self, file: Path, folder: Path, largest_id: int) -> Coverage:
        """See `Accelerator`; the compiled file holds the shortest length, and answers in int8."""
        source = folder / self.file_name
        source.write_bytes(keep_integers(file.read_bytes()))
        command = [sys.executable, "-m", "ethosu.vela", str(source), "--accelerator-config", self.name]
        status, output = run_tool(self.name, [*command, "--output-dir", str(folder)])
        counts, compiled = dict(_COUNTS.findall(output)), folder / f"{self.name}_vela.tflite"
        if status or len(counts) < 2 or not compiled.is_file():
            raise AcceleratorError(f"{self.name} refuses {file.name}: {find_reason(output)}")
        compiled.replace(source)
        (summary,) = folder.glob("*_summary_*.csv")
        (row,) = csv.DictReader(summary.read_text(encoding="utf-8").splitlines())
        figures = {name: round(float(row[key]) * factor, 3) for key, (name, factor) in _FIGURES.items()}
        # Without the name of the tensor in brackets.
        left = Counter(f"{kind}: {reason.partition(' (')[0].strip()}" for kind, reason in _LEFT.findall(output))
        taken, processor = int(counts["NPU"]), int(counts["CPU"])
        figures = {name: value for name, value in figures.items() if value}
        return self._finish(
            source, bound_arena(source.read_bytes()), Coverage(taken + processor, taken, 1, left, figures)
        )


def bound_arena(content: bytes) -> int:
    """The bytes of arena that a file of Vela needs at most: the end of its plan, and the interpreter's structures."""
    model = read_model(content)
    graph = model.subgraphs[0]
    (plan,) = (model.buffers[entry.buffer].data for entry in model.metadata or () if entry.name == _PLAN)
    # A version, the number of the graph and of its tensors, and an offset of each; -1 for what is not in the arena.
    offsets = np.asarray(plan, np.uint8).view(np.int32)[3:].tolist()
    # The schema reads the shape of a scalar as None.
    counts = [1 if tensor.shape is None else int(np.prod(tensor.shape)) for tensor in graph.tensors]
    sizes = [count * _BYTES.get(tensor.type, 1) for count, tensor in zip(counts, graph.tensors, strict=True)]
    planned = max(offset + size for offset, size in zip(offsets, sizes, strict=True) if offset >= 0)
    return planned + _FILE + _TENSOR * len(graph.tensors) + _OPERATION * len(graph.operators)
