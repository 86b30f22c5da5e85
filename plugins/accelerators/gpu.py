"""LiteRT's GPU engine (ML Drift), as Android, desktops and browsers run it: a file must run whole, with equal answers.

The engine is part of the wheel of `ai-edge-litert`. It needs a driver of Vulkan, which may be one that computes on the
processor. `python -m plugins.accelerators.gpu FILE compare LARGEST_ID` and `FILE answer FOLDER` are the process that
runs it.
"""

import functools
import re
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from keras_bert.accelerators.base import AcceleratorError, Coverage, EngineAnswers, Rows
from keras_bert.export.runtimes import SIGNATURE
from plugins.accelerators.comparison import check_difference, largest_difference, make_row
from plugins.accelerators.tools import (
    ExtraAccelerator,
    ask_tool,
    count_operations,
    exchange_rows,
    find_reason,
    print_result,
    serve_rows,
)

_NO_DRIVER = "No adapters found"
_DRIVERS = (
    "gpu needs a driver of Vulkan that the engine takes, found none: without a GPU, apt-get install libvulkan1 "
    "chromium-common and set VK_DRIVER_FILES=/usr/lib/chromium/vk_swiftshader_icd.json"
)
# "Selected adapter: SwiftShader Device (Subzero), arch=swiftshader, ..."
_ADAPTER = re.compile(r"Selected adapter: ([^,\n(]+)")
_REFUSAL = "Following operations are not supported by GPU delegate:"
# "GATHER: Input / output dtype mismatch."
_REASON = re.compile(r"^([A-Z][A-Z0-9_]+): (.+)$", re.MULTILINE)
_SHARE = re.compile(r"(\d+) operations will run on the GPU, and the remaining (\d+) operations will run on the CPU")
_ROWS = 8
# As a share of the range of the answers. The engine sums products of floats in another order, which sometimes moves an
# int8 activation whose range is measured row by row by a step.
_TOLERANCE = 0.1


class Gpu(ExtraAccelerator):
    """LiteRT's GPU engine."""

    chips = usual = ("gpu",)
    package = "ai_edge_litert"
    # The engine has no int16, and crashes at one scale for 32 weights.
    recipes = (None, "mixed_wi8_ai8", "dynamic_wi8", "static_wi8_ai8", "weights_wi4", "float16")
    runs_whole = True

    def compile(self, file: Path, folder: Path, largest_id: int) -> Coverage:
        """See `Accelerator`; `largest difference` is relative to the range of the processor's answers."""
        operations = count_operations(file)
        command = [*_command(file, "compare"), str(largest_id)]
        difference, output = ask_tool(self.name, command, _environment(folder))
        if _NO_DRIVER in output:
            raise AcceleratorError(_DRIVERS)
        if _REFUSAL in output:
            left = Counter(f"{kind}: {reason}" for kind, reason in _REASON.findall(output.split(_REFUSAL)[1]))
            if (share := _SHARE.search(output)) is None:
                raise AcceleratorError(f"{self.name} refuses {file.name}: {'; '.join(left)}")
            return Coverage(sum(map(int, share.groups())), int(share[1]), 1, left)
        if difference is None:
            raise AcceleratorError(f"{self.name} refuses {file.name}: {find_reason(output)}")
        check_difference(self.name, file.name, difference, _TOLERANCE, reason=find_reason(output))
        total = sum(operations.values())
        return Coverage(total, total, 1, figures={"largest difference": float(f"{difference:.1e}")})

    def answer(self, file: Path, rows: Rows, folder: Path) -> EngineAnswers:
        environment, reasons = _environment(folder), {_NO_DRIVER: _DRIVERS}
        answers, output = exchange_rows(self.name, _command(file, "answer"), rows, folder, environment, reasons)
        if (adapter := _ADAPTER.search(output)) is None:
            raise AcceleratorError(_DRIVERS)
        return EngineAnswers(answers, f"GPU ({adapter[1].strip().removesuffix(' Device')})")


def _command(file: Path, action: str) -> list[str]:
    return [sys.executable, "-m", "plugins.accelerators.gpu", str(file), action]


def _environment(folder: Path) -> dict[str, str]:
    # Without it the loader of Vulkan prints a warning as an error.
    return {"XDG_RUNTIME_DIR": str(folder)}


class _GpuModel:
    """A file on the GPU."""

    def __init__(self, file: str) -> None:
        from ai_edge_litert.compiled_model import CompiledModel
        from ai_edge_litert.hardware_accelerator import HardwareAccelerator
        from ai_edge_litert.interpreter import Interpreter

        self.interpreter: Any = Interpreter(model_path=file)
        self._model: Any = CompiledModel.from_file(file, hardware_accel=HardwareAccelerator.GPU)
        self.signatures = self._model.get_signature_list()

    @functools.cache  # noqa: B019, the model lives as long as the process
    def _buffers(self, name: str) -> tuple[int, Any, Any, dict[str, Any]]:
        index = list(self.signatures).index(name)
        details = self.interpreter.get_signature_runner(name).get_output_details()
        sizes = {output: details[output]["shape"] for output in self.signatures[name]["outputs"]}
        return index, self._model.create_input_buffers(index), self._model.create_output_buffers(index), sizes

    def run(self, name: str, values: Mapping[str, Any]) -> dict[str, Any]:
        """Runs a signature."""
        index, inputs, outputs, sizes = self._buffers(name)
        for buffer, key in zip(inputs, self.signatures[name]["inputs"], strict=True):
            buffer.write(np.ascontiguousarray(values[key]))
        self._model.run_by_index(index, inputs, outputs)
        pairs = zip(outputs, sizes.items(), strict=True)
        return {key: buffer.read(int(np.prod(size)), np.float32).reshape(size) for buffer, (key, size) in pairs}


def compare(model: _GpuModel, largest_id: int) -> float:
    """Runs every signature of a file on the GPU and on the processor; returns the largest difference of answers."""
    rng, differences = np.random.default_rng(0), []
    for name in model.signatures:
        runner = model.interpreter.get_signature_runner(name)
        rows = [make_row(runner.get_input_details(), row, largest_id, rng) for row in range(_ROWS)]
        differences.append(largest_difference([runner(**row) for row in rows], [model.run(name, row) for row in rows]))
    return float(np.max(differences))


def main(file: str, action: str, argument: str) -> None:
    """Prints the largest difference of answers, or answers rows, see `exchange_rows`."""
    model = _GpuModel(file)
    if action == "compare":
        print_result(compare(model, int(argument)))
    else:
        serve_rows(argument, lambda length, row: model.run(SIGNATURE.format(length=length), row))


if __name__ == "__main__":
    main(*sys.argv[1:])
