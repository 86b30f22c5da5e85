"""LiteRT's GPU engine (ML Drift), as Android, desktops and browsers run it: a file must run whole, with equal answers.

The engine is part of the wheel of `ai-edge-litert`. It needs a driver of Vulkan, which may be one that computes on the
processor. `python -m keras_bert.accelerators.gpu FILE LARGEST_ID` is the process that runs it.
"""

import json
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from keras_bert.accelerators.base import (
    Accelerator,
    AcceleratorError,
    Coverage,
    count_operations,
    find_reason,
    run_tool,
)

_NO_DRIVER = "No adapters found"
_REFUSAL = "Following operations are not supported by GPU delegate:"
# "GATHER: Input / output dtype mismatch."
_REASON = re.compile(r"^([A-Z][A-Z0-9_]+): (.+)$", re.MULTILINE)
_SHARE = re.compile(r"(\d+) operations will run on the GPU, and the remaining (\d+) operations will run on the CPU")
_RESULT = "result: "
_ROWS = 8
# Of the answers' range. Products of floats are summed in another order; an int8 activation whose range is found row by
# row then moves by a step now and then.
_TOLERANCE = 0.1


class Gpu(Accelerator):
    """LiteRT's GPU engine."""

    package = "ai_edge_litert"
    # The engine has no int16, and crashes at one scale for 32 weights.
    recipes = (None, "mixed_wi8_ai8", "dynamic_wi8", "static_wi8_ai8", "weights_wi4", "float16")
    runs_whole = True

    def compile(self, file: Path, folder: Path, largest_id: int) -> Coverage:
        """See `Accelerator`; `largest difference` is that to the processor's answers, as a share of their range."""
        operations = count_operations(file)
        command = [sys.executable, "-m", "keras_bert.accelerators.gpu", str(file), str(largest_id)]
        # Without it the loader of Vulkan prints a warning as an error.
        status, output = run_tool(self.name, command, {"XDG_RUNTIME_DIR": str(folder)})
        if _NO_DRIVER in output:
            raise AcceleratorError(
                f"{self.name} needs a driver of Vulkan that the engine takes, found none: without a GPU, apt-get "
                "install libvulkan1 chromium-common and set VK_DRIVER_FILES=/usr/lib/chromium/vk_swiftshader_icd.json"
            )
        if _REFUSAL in output:
            left = Counter(f"{kind}: {reason}" for kind, reason in _REASON.findall(output.split(_REFUSAL)[1]))
            if (share := _SHARE.search(output)) is None:
                raise AcceleratorError(f"{self.name} refuses {file.name}: {'; '.join(left)}")
            return Coverage(sum(map(int, share.groups())), int(share[1]), 1, left)
        results = [line.removeprefix(_RESULT) for line in output.splitlines() if line.startswith(_RESULT)]
        if status or not results:
            raise AcceleratorError(f"{self.name} refuses {file.name}: {find_reason(output)}")
        difference = float(json.loads(results[0]))
        if not difference <= _TOLERANCE:
            raise AcceleratorError(
                f"{self.name} answers {file.name} otherwise than the processor: the largest difference must be at most "
                f"{_TOLERANCE:g} of the range of the answers, got {difference:.3g}: {find_reason(output)}"
            )
        total = sum(operations.values())
        return Coverage(total, total, 1, figures={"largest difference": float(f"{difference:.1e}")})


def main(file: str, largest_id: int) -> None:
    """Runs every signature of a file on the GPU and on the processor, and prints the largest difference of answers."""
    from ai_edge_litert.compiled_model import CompiledModel
    from ai_edge_litert.hardware_accelerator import HardwareAccelerator
    from ai_edge_litert.interpreter import Interpreter

    interpreter: Any = Interpreter(model_path=file)
    model: Any = CompiledModel.from_file(file, hardware_accel=HardwareAccelerator.GPU)
    signatures, rng, differences = model.get_signature_list(), np.random.default_rng(0), []
    for index, (name, sides) in enumerate(signatures.items()):
        runner = interpreter.get_signature_runner(name)
        given, answered = runner.get_input_details(), runner.get_output_details()
        inputs, outputs = model.create_input_buffers(index), model.create_output_buffers(index)
        expected, got = [], []
        for row in range(_ROWS):
            values = {
                input_name: make_input(input_name, given[input_name], row, largest_id, rng) for input_name in given
            }
            expected.append(runner(**values))
            for buffer, key in zip(inputs, sides["inputs"], strict=True):
                buffer.write(values[key])
            model.run_by_index(index, inputs, outputs)
            sizes = {output: answered[output]["shape"] for output in sides["outputs"]}
            pairs = zip(outputs, sizes.items(), strict=True)
            got.append(
                {key: buffer.read(int(np.prod(size)), np.float32).reshape(size) for buffer, (key, size) in pairs}
            )
        for output in sides["outputs"]:
            ours, theirs = (np.stack([answers[output] for answers in side]) for side in (expected, got))
            differences.append(float(np.abs(ours - theirs).max() / max(np.ptp(ours), 1e-6)))
    sys.stdout.write(f"{_RESULT}{max(differences)}\n")


def make_input(name: str, details: Any, row: int, largest_id: int, rng: np.random.Generator) -> Any:
    """A row of an input: random ids, a mask whose last tokens are padding in every second row, segments of 0."""
    shape, kind = details["shape"], details["dtype"]
    if "ids" in name and "segment" not in name:
        return rng.integers(0, largest_id + 1, shape).astype(kind)
    values = np.full(shape, "mask" in name, kind)
    if "mask" in name and row % 2:
        values[..., -(shape[-1] // 3) :] = 0
    return values


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
