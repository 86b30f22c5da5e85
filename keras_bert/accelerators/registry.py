"""All accelerators by their names."""

import difflib
import logging
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from keras_bert.accelerators.base import Accelerator, AcceleratorError, Coverage, EngineAnswers, Rows
from keras_bert.accelerators.ethos_u import CHIPS, EthosU
from keras_bert.accelerators.gpu import Gpu
from keras_bert.accelerators.micro import TfliteMicro
from keras_bert.accelerators.plugins import Google, Intel, MediaTek, Npu, Samsung
from keras_bert.accelerators.qualcomm import Qualcomm

# Maker, as in a name -> its chips.
_NPUS: dict[str, type[Npu]] = {
    "qualcomm": Qualcomm,
    "intel": Intel,
    "mediatek": MediaTek,
    "google": Google,
    "samsung": Samsung,
}
# Engines, which are no chips of a maker.
_ENGINES: dict[str, type[Accelerator]] = {"gpu": Gpu, "tflite-micro": TfliteMicro}
# One chip of each kind, of which `describe --accelerators` asks.
USUAL = ("gpu", "qualcomm/SM8650", "intel/LNL", "ethos-u55-128", "ethos-u65-256", "ethos-u85-256", "tflite-micro")

logger = logging.getLogger(__name__)


def names() -> Iterator[str]:
    """The names of all accelerators."""
    yield from _ENGINES
    for maker, kind in _NPUS.items():
        yield from (f"{maker}/{chip}" for chip in kind.chips)
    yield from CHIPS


def find_accelerator(name: str) -> Accelerator:
    """The accelerator with a name."""
    by_lower_case = {name.lower(): name for name in names()}
    if name not in by_lower_case.values():
        nearest = by_lower_case[difflib.get_close_matches(name.lower(), by_lower_case, n=1, cutoff=0)[0]]
        makers = ", ".join(f"{maker}/CHIP" for maker in _NPUS)
        raise AcceleratorError(
            f"an accelerator must be {', '.join(_ENGINES)}, {makers} or ethos-u... (Core ML is in export.runtimes), "
            f"got {name!r}; nearest: {nearest!r}"
        )
    if name in _ENGINES:
        return _ENGINES[name](name)
    maker, _, chip = name.partition("/")
    return _NPUS[maker](name) if chip else EthosU(name)


def compile_file(name: str, file: Path, folder: Path, largest_id: int) -> Coverage:
    """Compiles a `.tflite` file for an accelerator into a folder, which only gets the compiled file and its sources."""
    accelerator = find_accelerator(name)
    if obstacle := accelerator.find_compiler_obstacle():
        raise AcceleratorError(obstacle)
    with tempfile.TemporaryDirectory() as staging:
        coverage = accelerator.compile(file, Path(staging), largest_id)
        share = f"{name} runs {coverage.taken} of {coverage.operations} operations of {file.name}"
        if coverage.taken < coverage.operations or coverage.parts > 1:
            left = f"{share}, in {coverage.parts} parts; left: {', '.join(coverage.left)}"
            if accelerator.runs_whole:
                raise AcceleratorError(f"{left}; the file must run whole")
            logger.warning("%s", left)
        for suffix in accelerator.suffixes:
            _copy(Path(staging), Path(accelerator.file_name).with_suffix(suffix).name, folder)
    return coverage


def compile_onnx(name: str, file: Path, folder: Path, lengths: Sequence[int], largest_id: int) -> None:
    """Compiles an `.onnx` file for an accelerator that takes such files into a folder, see `Accelerator`."""
    with tempfile.TemporaryDirectory() as staging:
        find_accelerator(name).compile_onnx(file, Path(staging), lengths, largest_id)
        _copy(Path(staging), "*.onnx", folder)


def answer_rows(name: str, file: Path, rows: Rows) -> EngineAnswers | None:
    """The answers of an accelerator's engine or simulator, see `Accelerator.answer`."""
    accelerator = find_accelerator(name)
    if obstacle := accelerator.find_obstacle():
        raise AcceleratorError(obstacle)
    with tempfile.TemporaryDirectory() as folder:
        return accelerator.answer(file, rows, Path(folder))


def _copy(staging: Path, names: str, folder: Path) -> None:
    for compiled in sorted(staging.glob(names)):
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(compiled, folder / compiled.name)
