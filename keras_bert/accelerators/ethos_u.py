"""Arm's Ethos-U, for microcontrollers: files of integers are compiled by Vela for LiteRT for Microcontrollers."""

import csv
import re
import sys
from collections import Counter
from pathlib import Path

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from keras_bert.accelerators.base import Accelerator, AcceleratorError, Coverage, find_reason, run_tool
from keras_bert.export.rules.lite_graphs import builtin_number
from keras_bert.export.sharing import read_model, write_model

CHIPS = (
    *(f"ethos-u55-{units}" for units in (32, 64, 128, 256)),
    *(f"ethos-u65-{units}" for units in (256, 512)),
    *(f"ethos-u85-{units}" for units in (128, 256, 512, 1024, 2048)),
)
_COUNTS = re.compile(r"^(CPU|NPU) operators = (\d+)", re.MULTILINE)
_LEFT = re.compile(r"^Warning \(supported operators\) operator: (\w+)[^\n]*\n(?:Reason: |\s*- )?([^\n]*)", re.MULTILINE)
# Column of Vela's summary -> our name, and the factor of its unit.
_FIGURES = {
    "inference_time": ("milliseconds, estimated", 1e3),
    "sram_memory_used": ("KB of SRAM", 1.024),
    "dram_memory_used": ("KB of DRAM", 1.024),
    "off_chip_flash_memory_used": ("KB of flash", 1.024),
}


class EthosU(Accelerator):
    """An Ethos-U of a family and a number of multipliers."""

    package = "ethosu"
    recipes = ("static_wi8_ai8",)

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
        summary.unlink()
        figures = {name: round(float(row[key]) * factor, 3) for key, (name, factor) in _FIGURES.items()}
        # Without the name of the tensor in brackets.
        left = Counter(f"{kind}: {reason.partition(' (')[0].strip()}" for kind, reason in _LEFT.findall(output))
        taken, processor = int(counts["NPU"]), int(counts["CPU"])
        return Coverage(taken + processor, taken, 1, left, {name: value for name, value in figures.items() if value})


def keep_integers(content: bytes) -> bytes:
    """The first signature of a `.tflite` file alone, with int8 answers where `DEQUANTIZE` is the last operation."""
    model = read_model(content)
    model.signatureDefs = [signature for signature in model.signatureDefs or () if signature.subgraphIndex == 0]
    model.subgraphs = model.subgraphs[:1]
    graph, kinds = model.subgraphs[0], [builtin_number(code) for code in model.operatorCodes]
    last = {
        int(operation.outputs[0]): int(operation.inputs[0])
        for operation in graph.operators
        if kinds[operation.opcodeIndex] == schema.BuiltinOperator.DEQUANTIZE
    }
    ends = {number: last[number] for number in map(int, graph.outputs) if number in last}
    graph.operators = [operation for operation in graph.operators if int(operation.outputs[0]) not in ends]
    graph.outputs = np.array([ends.get(number, number) for number in map(int, graph.outputs)], np.int32)
    for signature in model.signatureDefs:
        for output in signature.outputs:
            output.tensorIndex = ends.get(output.tensorIndex, output.tensorIndex)
    return write_model(model)
