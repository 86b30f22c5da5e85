"""The interface of an accelerator, which plug-ins of the kind "accelerators" have."""

import abc
import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from keras_bert.options.quantization import RecipeName


class AcceleratorError(ValueError):
    """A compiler or an engine cannot take a file; the message is a whole sentence."""


class Coverage(NamedTuple):
    """How much of a file an accelerator runs.

    Attributes:
        parts: the number of connected parts of the graph that it runs; values are copied between parts.
        left: number of operations that the processor runs, by their kind, and by the reason if the tool gives one.
        figures: what the tool measures or estimates, by name with its unit.
        operators: for LiteRT for Microcontrollers, the methods of its resolver that register the file's operations.
    """

    operations: int
    taken: int
    parts: int
    left: Mapping[str, int] = {}
    figures: Mapping[str, float] = {}
    operators: Sequence[str] = ()


# Length of the signature -> the rows by input, or their answers by output, (rows, ...).
Rows = Mapping[int, Mapping[str, np.ndarray[Any, Any]]]


class EngineAnswers(NamedTuple):
    """Answers of an engine, by its name in a table, or of a simulator, "HTP, simulated".

    `numbers` is the number format of the file that is run, "int8"; empty if it is the `.tflite` file.
    """

    answers: Rows
    engine: str
    numbers: str = ""


class Accelerator(abc.ABC):
    """The base class of accelerators; an object is one chip, or one engine."""

    chips: ClassVar[Sequence[str]]
    """The names of all chips of this kind, or of the engine."""

    usual: ClassVar[Sequence[str]] = ()
    """Those of `chips` that `describe --accelerators` asks unless the user names others."""

    package: ClassVar[str]
    """The Python package that `cover` needs."""

    recipes: ClassVar[Sequence[RecipeName | None]] = ()
    """The recipes that it takes, None for a float model; empty for all."""

    suffixes: ClassVar[Sequence[str]] = (".tflite",)
    """The suffixes of the files that are made, all with the name of `file_name`."""

    runs_whole: ClassVar[bool] = False
    """True if an exported file must run on it as a whole; else the processor may run some operations."""

    takes_onnx: ClassVar[bool] = False
    """True if the maker also has an engine for ONNX Runtime, see `compile_onnx`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.file_name = f"{name.replace('/', '_')}.tflite"

    @property
    @abc.abstractmethod
    def installation(self) -> str:
        """The command that installs the package."""

    def find_obstacle(self) -> str | None:
        """The reason why `cover` cannot work on this machine, with the way out; None if there is none."""
        if importlib.util.find_spec(self.package) is None:
            return f"{self.name} needs the Python package {self.package}, which is not installed: {self.installation}"
        return None

    def find_compiler_obstacle(self) -> str | None:
        """As `find_obstacle`, why `compile` cannot work."""
        return self.find_obstacle()

    def check_recipe(self, recipe: RecipeName | None) -> None:
        """Checks that files of a recipe are taken; None is a float model."""
        if self.recipes and recipe not in self.recipes:
            taken = ", ".join(str(taken or "float32") for taken in self.recipes)
            raise AcceleratorError(f"{self.name} takes files of {taken}, got {recipe or 'float32'}")

    def cover(self, file: Path, folder: Path, largest_id: int) -> Coverage:
        """The same as `compile` returns, without the maker's compiler if that is possible."""
        return self.compile(file, folder, largest_id)

    @abc.abstractmethod
    def compile(self, file: Path, folder: Path, largest_id: int) -> Coverage:
        """Compiles a `.tflite` file with token ids as inputs.

        Args:
            file: the file.
            folder: an empty folder for the compiled file, `file_name`, and whatever else the tool writes; an engine
                that runs the file as it is writes none.
            largest_id: the largest token id that an engine may be given; ids are drawn from 0 to this one.

        Raises:
            AcceleratorError: the tool refuses the file, gives wrong answers, crashes, or takes more than ten minutes.
        """

    def compile_onnx(self, file: Path, folder: Path, lengths: Sequence[int], largest_id: int) -> None:
        """Compiles an `.onnx` file with axes `batch` and `length` for one row of each length, where `takes_onnx`.

        Args:
            file: the file.
            folder: an empty folder for the compiled files.
            lengths: the numbers of tokens.
            largest_id: see `compile`.

        Raises:
            AcceleratorError: as `compile`.
        """
        raise NotImplementedError(f"{self.name} takes no .onnx files")

    def answer(self, file: Path, rows: Rows, folder: Path) -> EngineAnswers | None:
        """Answers rows on the engine or on a simulator; None where nothing on this machine can.

        Args:
            file: the `.tflite` file of an exported folder, which has what `compile` wrote below it.
            rows: the rows of each signature.
            folder: an empty folder.

        Raises:
            AcceleratorError: as `compile`; or answers are not finite, or all are 0.
        """
        return None
