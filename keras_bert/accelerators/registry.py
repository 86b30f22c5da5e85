"""Accelerators by their names; plug-ins have them."""

import difflib
import logging
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from keras_bert.accelerators.base import Accelerator, AcceleratorError, Coverage, EngineAnswers, Rows
from keras_bert.core.plugins import find_plugins

logger = logging.getLogger(__name__)


def load_kinds() -> dict[str, type[Accelerator]]:
    """The kinds of accelerators by their names as plug-ins."""
    kinds = {name: entry.load() for name, entry in find_plugins("accelerators").items()}
    if not kinds:
        raise AcceleratorError(
            "an accelerator must be one of those that are installed, found none; install a package with an entry point "
            "in the group 'keras_bert_edge.accelerators'"
        )
    return kinds


def find_accelerator(name: str) -> Accelerator:
    """The accelerator with a name."""
    kinds = load_kinds()
    by_lower_case = {chip.lower(): chip for kind in kinds.values() for chip in kind.chips}
    if name not in by_lower_case.values():
        nearest = by_lower_case[difflib.get_close_matches(name.lower(), by_lower_case, n=1, cutoff=0)[0]]
        raise AcceleratorError(
            f"an accelerator must be one of those that are installed ({', '.join(kinds)}; other targets are "
            f"in export.runtimes), got {name!r}; nearest: {nearest!r}"
        )
    return next(kind for kind in kinds.values() if name in kind.chips)(name)


def usual_chips() -> list[str]:
    """The chips of each kind that `describe --accelerators` asks; raises as `load_kinds`."""
    return [chip for kind in load_kinds().values() for chip in kind.usual]


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
