"""LiteRT for Microcontrollers on a processor without an NPU: the interpreter of the `tflite-micro` wheel runs the file.

`python -m plugins.accelerators.micro FILE MADE LARGEST_ID` is the process that runs it.
"""

import copy
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from keras_bert.accelerators.base import AcceleratorError, Coverage
from keras_bert.export.lite_writer import LiteGraphWriter
from keras_bert.export.sharing import read_model, write_model
from plugins.accelerators.comparison import check_difference, make_row
from plugins.accelerators.microcontrollers import Microcontroller, keep_integers, name_inputs
from plugins.accelerators.tools import ask_tool, count_operations, find_reason, print_result

_ROWS = 8
_ARENA_STEP = 64
# In quantization steps, of which an answer has 256. Sums are rounded differently, in each layer again.
_LARGEST_STEPS = 5


class TfliteMicro(Microcontroller):
    """LiteRT for Microcontrollers without an accelerator: Cortex-M, RISC-V, Xtensa."""

    chips = usual = ("tflite-micro",)
    package = "tflite_micro"
    runs_whole = True

    def compile(self, file: Path, folder: Path, largest_id: int) -> Coverage:
        """See `Accelerator`; `largest difference` compares the answers with LiteRT's, in steps of 256."""
        source = folder / self.file_name
        source.write_bytes(replace_gelu(keep_integers(file.read_bytes())))
        command = [sys.executable, "-m", "plugins.accelerators.micro", str(file), str(source), str(largest_id)]
        result, output = ask_tool(self.name, command)
        if result is None:
            raise AcceleratorError(f"{self.name} refuses {file.name}: {find_reason(output)}")
        steps, arena = result
        check_difference(self.name, file.name, steps, _LARGEST_STEPS, "of 256 steps of an answer")
        total = sum(count_operations(source).values())
        coverage = Coverage(total, total, 1, figures={"largest difference in steps": steps})
        return self._finish(source, arena, coverage)


def replace_gelu(content: bytes) -> bytes:
    """Replaces GELU of int8, which LiteRT for Microcontrollers does not have, by a lookup in its 256 answers."""
    model = read_model(content)
    for graph in model.subgraphs:
        _GeluPass(model, graph).rewrite()
    return write_model(model)


class _GeluPass(LiteGraphWriter):
    def rewrite(self) -> None:
        """Rewrites each GELU of int8."""
        graph = self._graph
        graph.operators = [made for operation in graph.operators for made in self._looked_up(operation)]

    def _looked_up(self, gelu: Any) -> Iterator[Any]:
        given, result = (self._graph.tensors[int(numbers[0])] for numbers in (gelu.inputs, gelu.outputs))
        if self._kind(gelu) != schema.BuiltinOperator.GELU or given.type != schema.TensorType.INT8:
            yield gelu
            return
        source, shape = int(gelu.inputs[0]), self._shape(int(gelu.inputs[0]))
        places = self._tensor(result.name, "places", shape, schema.TensorType.INT32)
        # The grid of the input, shifted so that it begins at 0.
        self._graph.tensors[places].quantization = grid = copy.deepcopy(given.quantization)
        grid.zeroPoint = given.quantization.zeroPoint + 128
        table = self._constant(result.name, "table", _tabulate(gelu, given.quantization, result.quantization))
        self._graph.tensors[table].quantization = result.quantization
        no_options, options = schema.BuiltinOptions.NONE, schema.BuiltinOptions.GatherOptions
        yield self._operation(schema.BuiltinOperator.QUANTIZE, (source,), places, no_options, None)
        lookup = self._operation(
            schema.BuiltinOperator.GATHER, (table, places), int(gelu.outputs[0]), options, schema.GatherOptionsT()
        )
        yield lookup


def _tabulate(gelu: Any, given: Any, result: Any) -> np.ndarray:
    """GELU of each int8 on the grid of its input, int8 (256,) on the grid of its result, rounded as LiteRT does."""
    values = float(given.scale[0]) * (np.arange(-128, 128) - int(given.zeroPoint[0]))
    if gelu.builtinOptions.approximate:
        shares = np.tanh(math.sqrt(2 / math.pi) * (values + 0.044715 * values**3))
    else:
        shares = np.array([math.erf(value / math.sqrt(2)) for value in values])
    answers = values * (1 + shares) / 2 / float(result.scale[0])
    rounded = np.sign(answers) * np.floor(np.abs(answers) + 0.5) + int(result.zeroPoint[0])
    return np.clip(rounded, -128, 127).astype(np.int8)


def main(file: str, made: str, largest_id: int) -> None:
    """Runs the first signature of a file in LiteRT, and the file made of it; prints the largest difference."""
    from ai_edge_litert.interpreter import Interpreter
    from tflite_micro.python.tflite_micro import runtime

    lite: Any = Interpreter(model_path=file)
    content = Path(made).read_bytes()
    model, micro, rng = read_model(content), runtime.Interpreter.from_bytes(content), np.random.default_rng(0)
    runner = lite.get_signature_runner(model.signatureDefs[0].signatureKey.decode())
    given, inputs, answers = runner.get_input_details(), name_inputs(model), []
    for row in range(_ROWS):
        values = make_row(given, row, largest_id, rng)
        (expected,) = runner(**values).values()
        for number, name in enumerate(inputs):
            micro.set_input(values[name], number)
        micro.invoke()
        answers.append((expected, micro.get_output(0)))
    expected, got = (np.stack(side).astype(np.float64) for side in zip(*answers, strict=True))
    details = micro.get_output_details(0)
    if details["dtype"] is np.int8:
        parameters = details["quantization_parameters"]
        step = float(parameters["scales"][0])
        got = (got - int(parameters["zero_points"][0])) * step
    else:
        step = max(float(np.ptp(expected)), 1e-6) / 256
    steps = float(f"{np.abs(got - expected).max() / step:.3g}")
    print_result([steps, _find_arena(content)])


def _find_arena(content: bytes) -> int:
    """The bytes of the smallest arena in which the interpreter takes a file, to 64 bytes; planning needs them, too."""
    from tflite_micro.python.tflite_micro import runtime

    too_small, enough = 0, 10 * len(content)
    while enough - too_small > _ARENA_STEP:
        size = (too_small + enough) // 2
        try:
            runtime.Interpreter.from_bytes(content, arena_size=size)
            enough = size
        except RuntimeError:
            too_small = size
    return enough


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
