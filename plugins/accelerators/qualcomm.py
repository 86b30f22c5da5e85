"""Qualcomm's NPU, the HTP: files for LiteRT, and for ONNX Runtime, which also simulates it.

Compiler and simulator are in the wheel of ONNX Runtime's package for it. `python -m plugins.accelerators.qualcomm
compile ...` and `answer ...` are the process that they run in.
"""

import functools
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from keras_bert.accelerators.base import AcceleratorError, EngineAnswers, Rows
from keras_bert.core.folders import ACCELERATORS_FOLDER, INPUT_NAMES
from plugins.accelerators.comparison import check_difference, largest_difference, make_row
from plugins.accelerators.npus import Npu
from plugins.accelerators.tools import ask_tool, exchange_rows, find_reason, package_folder, print_result, serve_rows

# Chip, the newest last -> its number in the compiler (`SnapdragonModel` in LiteRT's sources). Without the number the
# compiler assumes a chip without floats, and reports a "Memory allocation related error" for a graph with floats.
_SOC_MODELS = {
    "SA8255": 52,
    "SA8295": 39,
    "SM8350": 30,
    "SM8450": 36,
    "SM8475": 42,
    "SM8550": 43,
    "SM8650": 57,
    "SM8750": 69,
    "SM8845": 97,
    "SM8850": 87,
}
_PROVIDER = "QNNExecutionProvider"
_ROWS = 2
# As a share of the range of the answers. Floats are float16 on the chip; the measured differences were 0.01.
_TOLERANCE = 0.1


class Qualcomm(Npu):
    """Qualcomm's HTP."""

    package, maker, plugin = "onnxruntime_qnn", "Qualcomm", "qualcomm"
    sdk, sdk_installation = "ai_edge_litert_sdk_qualcomm", "pip install ai-edge-litert-sdk-qualcomm"
    chips, usual = tuple(f"qualcomm/{chip}" for chip in _SOC_MODELS), ("qualcomm/SM8650",)
    takes_onnx = True

    def libraries(self, folder: Path) -> list[Path]:
        """See `Npu`; a library for low-power audio that the wheel leaves out is loaded, and never called."""
        home = package_folder(self.package)
        (folder / "libQnnLpai.so").symlink_to(home / "libQnnSystem.so")
        return [*super().libraries(folder), home, home.with_name(f"{self.package}.libs"), folder]

    def compile_onnx(self, file: Path, folder: Path, lengths: Sequence[int], largest_id: int) -> None:
        """See `Accelerator`; writes `qualcomm_CHIP_NUMBERS_LENGTH.onnx`, which holds the compiled graph.

        The simulator runs two rows of random ids, and must give the answers of the processor.
        """
        for length in lengths:
            compiled = folder / f"{Path(self.file_name).stem}_{file.stem}_{length}.onnx"
            arguments = map(str, (file, compiled, length, largest_id))
            difference, output = ask_tool(self.name, [*self._tool("compile"), *arguments])
            if difference is None or not compiled.is_file():
                raise AcceleratorError(f"{self.name} refuses the graph for ONNX Runtime: {find_reason(output)}")
            check_difference(self.name, file.name, difference, _TOLERANCE)

    def answer(self, file: Path, rows: Rows, folder: Path) -> EngineAnswers | None:
        """See `Accelerator`; the files of `compile_onnx` answer."""
        stem = Path(self.file_name).stem
        compiled = sorted((file.parent / ACCELERATORS_FOLDER).glob(f"{stem}_*.onnx"))
        by_length = {int(path.stem.rpartition("_")[2]): path for path in compiled}
        command = [*self._tool("answer"), *(str(by_length[length]) for length in rows)]
        answers, _ = exchange_rows(self.name, command, rows, folder)
        return EngineAnswers(answers, "HTP, simulated", compiled[0].stem.split("_")[-2])

    def _tool(self, action: str) -> list[str]:
        number = _SOC_MODELS[self.name.partition("/")[2]]
        return [sys.executable, "-m", "plugins.accelerators.qualcomm", action, str(number)]


@functools.cache
def _find_device() -> tuple[Any, str]:
    import onnxruntime
    import onnxruntime_qnn

    onnxruntime.register_execution_provider_library(_PROVIDER, onnxruntime_qnn.get_library_path())
    device = next(device for device in onnxruntime.get_ep_devices() if device.ep_name == _PROVIDER)
    return device, onnxruntime_qnn.get_qnn_htp_path()


def _open(file: str, soc_model: str = "", length: int | None = None, compiled: str = "") -> Any:
    """A session on the HTP, or on the processor without a chip; writes the compiled graph to the path `compiled`."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    if length is not None:
        options.add_free_dimension_override_by_name("batch", 1)
        options.add_free_dimension_override_by_name("length", length)
    if compiled:
        for key, value in (("enable", "1"), ("file_path", compiled), ("embed_mode", "1")):
            options.add_session_config_entry(f"ep.context_{key}", value)
    if not soc_model:
        return onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
    device, backend = _find_device()
    options.add_provider_for_devices([device], {"backend_path": backend, "soc_model": soc_model})
    return onnxruntime.InferenceSession(file, options)


def _run(session: Any, row: Mapping[str, Any]) -> dict[str, Any]:
    names = [output.name for output in session.get_outputs()]
    given = {value.name: row[value.name] for value in session.get_inputs()}
    return dict(zip(names, session.run(names, given), strict=True))


def compile_graph(soc_model: str, source: str, compiled: str, length: int, largest_id: int) -> float:
    """Compiles a graph for rows of a length; returns the largest difference from the processor, of the range."""
    _open(source, soc_model, length, compiled)
    simulated, processor, rng = _open(compiled, soc_model), _open(source, length=length), np.random.default_rng(0)
    inputs = {name: {"shape": (1, length), "dtype": np.int32} for name in INPUT_NAMES}
    rows = [make_row(inputs, row, largest_id, rng) for row in range(_ROWS)]
    return largest_difference(*([_run(session, row) for row in rows] for session in (processor, simulated)))


def main(action: str, soc_model: str, *arguments: str) -> None:
    """Compiles a graph and prints how far the simulator is from the processor; or answers rows, see `exchange_rows`."""
    if action == "compile":
        source, compiled, length, largest_id = arguments
        print_result(compile_graph(soc_model, source, compiled, int(length), int(largest_id)))
        return
    *files, folder = arguments
    by_length = {int(Path(file).stem.rpartition("_")[2]): file for file in files}
    open_length = functools.cache(lambda length: _open(by_length[length], soc_model))
    serve_rows(folder, lambda length, row: _run(open_length(length), row))


if __name__ == "__main__":
    main(*sys.argv[1:])
