"""NPUs that LiteRT compiles for ahead of time: Intel, MediaTek, Google and Samsung; Qualcomm is in `qualcomm`.

The compiler, `apply_plugin_main`, and a plugin for each maker are part of the wheel of `ai-edge-litert`; the libraries
that a plugin loads are packages of its maker.
"""

import importlib
import importlib.util
import os
import re
from pathlib import Path
from typing import ClassVar

from keras_bert.accelerators.base import AcceleratorError, Coverage
from plugins.accelerators.tools import ExtraAccelerator, count_operations, find_reason, package_folder, run_tool

_PARTS = re.compile(r"Partitioned subgraph<0>, selected (\d+) ops, from a total of (\d+) ops. resulted in (\d+) part")
_NOT_LOADED = re.compile(
    r"(?:Could not load shared library|Cannot load library|Failed to load \w+)[^\n]*", re.IGNORECASE
)


class Npu(ExtraAccelerator):
    """A chip of a maker, `MAKER/CHIP`; `chips` are those of LiteRT's `aot.vendors`, the newest last."""

    maker: ClassVar[str]
    """The name of the maker in LiteRT's compiler."""

    plugin: ClassVar[str]
    """The folder of the maker in `ai_edge_litert/vendors`."""

    sdk: ClassVar[str]
    """The Python package of the maker's SDK for LiteRT, which may be installed; `sdk_installation` installs it."""

    sdk_installation: ClassVar[str]

    def libraries(self, folder: Path) -> list[Path]:
        """The folders with the maker's libraries, as LiteRT's `aot` finds them; `folder` is one for links."""
        if importlib.util.find_spec(self.sdk) is None:
            return []
        try:
            libraries = importlib.import_module(self.sdk).path_to_sdk_libs(*self.sdk_versions())
        except NotImplementedError as error:
            raise AcceleratorError(f"{self.name} cannot be compiled for on this machine: {error}") from None
        # None where the package was installed without its download.
        return [] if libraries is None else [Path(libraries)]

    def sdk_versions(self) -> list[str]:
        """The arguments of the SDK's function for the libraries: the version for the chip, where it has several."""
        return []

    def compile(self, file: Path, folder: Path, largest_id: int) -> Coverage:
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
        paths = [*map(str, self.libraries(folder)), str(plugin), os.environ.get("LD_LIBRARY_PATH", "")]
        status, output = run_tool(self.name, command, {"LD_LIBRARY_PATH": os.pathsep.join(filter(None, paths))})
        if missing := _NOT_LOADED.search(output):
            raise AcceleratorError(
                f"{self.name} needs the compiler of {self.maker}, which is not on this machine: {missing[0][:300]}; "
                f"{self.sdk_installation}"
            )
        parts = _PARTS.search(output)
        if status or parts is None or not compiled.is_file():
            raise AcceleratorError(f"{self.name} refuses {file.name}: {find_reason(output)}")
        taken, operations, number = map(int, parts.groups())
        return Coverage(operations, taken, number, count_operations(compiled))


class Intel(Npu):
    """Intel's NPU; OpenVINO has to be of the version that the plugin loads."""

    package, maker, plugin = "openvino", "IntelOpenVINO", "intel_openvino"
    sdk, sdk_installation = "ai_edge_litert_sdk_intel", "pip install ai-edge-litert-sdk-intel"
    chips, usual = ("intel/LNL", "intel/PTL"), ("intel/LNL",)

    def find_compiler_obstacle(self) -> str | None:
        """See `Accelerator`; the SDK puts the compiler beside OpenVINO's libraries, whose wheel leaves it out."""
        if obstacle := self.find_obstacle():
            return obstacle
        if importlib.util.find_spec(self.sdk) or any(self._openvino().glob("*npu_compiler_loader*")):
            return None
        return f"{self.name} needs Intel's compiler, which is not in {self._openvino()}: {self.sdk_installation}"

    def libraries(self, folder: Path) -> list[Path]:
        return [*super().libraries(folder), self._openvino()]

    def _openvino(self) -> Path:
        return package_folder(self.package) / "libs"

    def cover(self, file: Path, folder: Path, largest_id: int) -> Coverage:
        return self._run("partition", file, folder)


class MediaTek(Npu):
    """MediaTek's APU."""

    maker, plugin = "MediaTek", "mediatek"
    package = sdk = "ai_edge_litert_sdk_mediatek"
    installation = sdk_installation = "pip install ai-edge-litert-sdk-mediatek"
    chips = tuple(
        f"mediatek/MT{number}"
        for number in (
            *(6853, 6877, 6878, 6879, 6886, 6893, 6895, 6897, 6983, 6985),
            *(6989, 6991, 8171, 8188, 8189, 6993),
        )
    )

    def sdk_versions(self) -> list[str]:
        from ai_edge_litert.aot.vendors.mediatek import target

        chip = target.SocModel(self.name.partition("/")[2])
        return [target.Target(chip).recommended_np_version]


class Google(Npu):
    """Google's Tensor."""

    maker, plugin = "Google", "google_tensor"
    package = sdk = "ai_edge_litert_sdk_google_tensor"
    installation = sdk_installation = "pip install ai-edge-litert-sdk-google-tensor"
    chips = ("google/Tensor_G3", "google/Tensor_G4", "google/Tensor_G5", "google/Tensor_G6")


class Samsung(Npu):
    """Samsung's NPU."""

    maker, plugin = "Samsung", "samsung"
    package = sdk = "ai_edge_litert_sdk_samsung"
    installation = sdk_installation = "Samsung gives its SDK to developers; PyPI does not have it"
    chips = ("samsung/E9965",)
