"""NPUs that LiteRT compiles for ahead of time: Qualcomm, Intel, MediaTek, Google and Samsung.

The compiler, `apply_plugin_main`, and a plugin for each maker are part of the wheel of `ai-edge-litert`; the libraries
that a plugin loads are packages of its maker.
"""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from keras_bert.accelerators.base import (
    Accelerator,
    AcceleratorError,
    Coverage,
    count_operations,
    find_reason,
    package_folder,
    run_tool,
)

_PARTS = re.compile(r"Partitioned subgraph<0>, selected (\d+) ops, from a total of (\d+) ops. resulted in (\d+) part")
_NOT_LOADED = re.compile(
    r"(?:Could not load shared library|Cannot load library|Failed to load \w+)[^\n]*", re.IGNORECASE
)


class Npu(Accelerator):
    """A chip of a maker, `MAKER/CHIP`."""

    maker: ClassVar[str]
    """The name of the maker in LiteRT's compiler."""

    plugin: ClassVar[str]
    """The folder of the maker in `ai_edge_litert/vendors`."""

    chips: ClassVar[Sequence[str]]
    """The chips of LiteRT's `aot.vendors`, the newest last."""

    def libraries(self, folder: Path) -> list[Path]:
        """The folders with the maker's libraries; `folder` is one for links."""
        return []

    def compile(self, file: Path, folder: Path, largest_id: int) -> Coverage:
        """See `Accelerator`."""
        return self._run("apply", file, folder)

    def _run(self, action: str, file: Path, folder: Path) -> Coverage:
        home, compiled = package_folder("ai_edge_litert"), folder / self.file_name
        plugin = home / "vendors" / self.plugin / "compiler"
        command = [
            str(home / "tools" / "apply_plugin_main"),
            f"--cmd={action}",
            f"--model={file}",
            f"--o={compiled}",
            f"--soc_manufacturer={self.maker}",
            f"--soc_model={self.name.partition('/')[2]}",
            f"--libs={plugin}",
            "--err=--",
        ]
        paths = os.pathsep.join(map(str, (*self.libraries(folder), plugin)))
        status, output = run_tool(self.name, command, {"LD_LIBRARY_PATH": paths})
        if missing := _NOT_LOADED.search(output):
            raise AcceleratorError(
                f"{self.name} needs the compiler of {self.maker}, which is not on this machine: {missing[0][:300]}"
            )
        parts = _PARTS.search(output)
        if status or parts is None or not compiled.is_file():
            raise AcceleratorError(f"{self.name} refuses {file.name}: {find_reason(output)}")
        taken, operations, number = map(int, parts.groups())
        return Coverage(operations, taken, number, count_operations(compiled))


class Qualcomm(Npu):
    """Qualcomm's HTP; the compiler is in the wheel of ONNX Runtime's package for it."""

    package, maker, plugin = "onnxruntime_qnn", "Qualcomm", "qualcomm"
    chips = ("SA8255", "SA8295", "SM8350", "SM8450", "SM8475", "SM8550", "SM8650", "SM8750", "SM8845", "SM8850")

    def libraries(self, folder: Path) -> list[Path]:
        """See `Npu`; a library for low-power audio that the wheel leaves out is loaded, and never called."""
        home = package_folder(self.package)
        (folder / "libQnnLpai.so").symlink_to(home / "libQnnSystem.so")
        return [home, home.with_name(f"{self.package}.libs"), folder]


class Intel(Npu):
    """Intel's NPU; OpenVINO has to be of the version that the plugin loads, and the compiler comes with the driver."""

    package, maker, plugin = "openvino", "IntelOpenVINO", "intel_openvino"
    chips = ("LNL", "PTL")

    def libraries(self, folder: Path) -> list[Path]:
        """See `Npu`."""
        return [package_folder(self.package) / "libs"]

    def cover(self, file: Path, folder: Path, largest_id: int) -> Coverage:
        """See `Accelerator`."""
        return self._run("partition", file, folder)


class MediaTek(Npu):
    """MediaTek's APU; its compiler comes with MediaTek's SDK."""

    package, maker, plugin = "ai_edge_litert", "MediaTek", "mediatek"
    chips = (
        *("MT6853", "MT6877", "MT6878", "MT6879", "MT6886", "MT6893", "MT6895", "MT6897", "MT6983", "MT6985"),
        *("MT6989", "MT6991", "MT8171", "MT8188", "MT8189", "MT6993"),
    )


class Google(Npu):
    """Google's Tensor; its compiler comes with Google's SDK."""

    package, maker, plugin = "ai_edge_litert", "Google", "google_tensor"
    chips = ("Tensor_G3", "Tensor_G4", "Tensor_G5", "Tensor_G6")


class Samsung(Npu):
    """Samsung's NPU; its compiler comes with Samsung's SDK."""

    package, maker, plugin = "ai_edge_litert", "Samsung", "samsung"
    chips = ("E9965",)
