"""The files that an export writes, and their properties."""

import dataclasses
import shutil
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Literal

from keras_bert.core.folders import (
    MEDIAPIPE_FILE,
    ONNX_FILE,
    SAVED_MODEL_FILE,
    TEXT_FILE,
    TFLITE_FILE,
    TFLITE_FLOAT_FILE,
    WEB_FILE,
    WEB_HALF_FILE,
    WEB_INT8_FILE,
    WEB_STATIC_FILE,
    model_parts,
)
from keras_bert.core.plugins import find_plugins

# The numbers of a file: those of the model's quantization recipe, or float32 where it has none; float32; float16; int8
# whose activation ranges are measured row by row; int8 with the activation ranges of the model.
Numbers = Literal["model", "float32", "float16", "dynamic_int8", "static_int8"]


@dataclasses.dataclass(frozen=True)
class ExportedFile:
    """A file that an export may write.

    Attributes:
        name: the path in the exported folder.
        card_line: the line in the model card, a format string for the file's entry in `export.json`.
        takes_ids: whether the inputs are token ids rather than text; such files have golden outputs.
        takes_pairs: whether the input may be a pair of texts.
        tag: the tag of its format on the Hugging Face hub; empty if there is none.
        open: opens a file of a plug-in's own format in a runtime, such as `FixedLengthModel`; None for other formats.
        describe: reads what the folder of such a file says of its model, or raises ValueError; None likewise.
    """

    name: str
    numbers: Numbers
    card_line: str
    takes_ids: bool = True
    takes_pairs: bool = True
    tag: str = ""
    open: Callable[[Path], Any] | None = None
    describe: Callable[[Path], dict[str, Any]] | None = None

    @property
    def is_self_contained(self) -> bool:
        """True if tokenizer, settings and metrics are attached to the file.

        A file in a folder, which is a model by itself, has them in the pushed folder.
        """
        return "/" not in self.name


LITERT = ExportedFile(
    TFLITE_FILE,
    "model",
    "weights {weights}; activations {activations}; for LiteRT; signatures for {lengths} tokens",
    tag="tflite",
)
LITERT_FLOAT = ExportedFile(
    TFLITE_FLOAT_FILE, "float32", "float32, for LiteRT; signatures for {lengths} tokens", tag="tflite"
)
ONNX = ExportedFile(
    ONNX_FILE, "float32", "float32, for ONNX Runtime; any batch and any length up to {lengths} tokens", tag="onnx"
)
SAVED_MODEL = ExportedFile(
    SAVED_MODEL_FILE,
    "float32",
    "float32, for TensorFlow Serving, with `variables` and `assets`; text or ids; any batch, any length",
)
MEDIAPIPE = ExportedFile(
    MEDIAPIPE_FILE,
    "model",
    "weights {weights}; for MediaPipe Tasks, which makes ids of text by itself; {lengths} tokens",
    takes_pairs=False,
)
TEXT = ExportedFile(
    TEXT_FILE,
    "model",
    "weights {weights}; takes text, with tensorflow-text's operations; {lengths} tokens",
    takes_ids=False,
)
WEB = ExportedFile(
    WEB_FILE,
    "float32",
    'float32, `dtype: "fp32"` of transformers.js; also for Optimum; inputs by the names of transformers',
)
WEB_HALF = ExportedFile(WEB_HALF_FILE, "float16", 'weights {weights}; `dtype: "fp16"`')
WEB_INT8 = ExportedFile(WEB_INT8_FILE, "dynamic_int8", 'weights {weights}; activations {activations}; `dtype: "q8"`')
WEB_STATIC = ExportedFile(
    WEB_STATIC_FILE, "static_int8", 'weights {weights}; activations {activations}; `dtype: "int8"`'
)
# Those of the targets that are no plug-ins, in the order of the model card.
CORE_FILES = (LITERT, LITERT_FLOAT, ONNX, SAVED_MODEL, MEDIAPIPE, TEXT, WEB, WEB_HALF, WEB_INT8, WEB_STATIC)


def find_opener(file: Path) -> Callable[[Path], Any] | None:
    """What opens a file in a format that only the export target of a plug-in knows; None for other files."""
    targets = (entry.load() for entry in find_plugins("export_targets").values())
    files: Iterable[ExportedFile] = (written for target in targets for written in target.written)
    return next((written.open for written in files if written.open and Path(written.name).name == file.name), None)


def list_parts(file: Path) -> list[Path]:
    """The files of an exported model: one, or those in the folders of its parts beside the file of its graph."""
    folders = (file.parent / part for part in model_parts(file.name))
    return [file, *(part for folder in folders for part in sorted(folder.rglob("*")) if part.is_file())]


def copy_model(file: Path, folder: Path) -> Path:
    """Copies an exported model into a folder, see `list_parts`; returns the path of the copy."""
    for part in list_parts(file):
        copy = folder / part.relative_to(file.parent)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(part, copy)
    return folder / file.name


def count_bytes(file: Path) -> int:
    """The size of an exported model, see `list_parts`."""
    return sum(part.stat().st_size for part in list_parts(file))


def count_download_bytes(file: Path) -> int:
    """The size of an exported model after deflate (zlib, level 6), as servers and packages of apps send it."""
    total = 0
    for part in list_parts(file):
        deflate = zlib.compressobj()
        with part.open("rb") as stream:
            total += sum(len(deflate.compress(block)) for block in iter(lambda: stream.read(1 << 20), b""))
        total += len(deflate.flush())
    return total
