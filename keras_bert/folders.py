"""The names of files, inputs and outputs, and folders whose files appear all at once."""

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# The inputs of every model, each int32 (batch, length), and the output of exported models.
INPUT_NAMES = ("token_ids", "segment_ids", "padding_mask")
LOGITS = "logits"

MODEL_FILE = "model.keras"
TASK_FILE = "task.json"
METRICS_FILE = "metrics.json"
ADAPTER_FOLDER = "adapter"
VOCABULARY_FILE = "vocab.txt"
TOKENIZER_FILE = "tokenizer.json"
TOKENIZER_FILES = (VOCABULARY_FILE, TOKENIZER_FILE)
LABELS_FILE = "labels.json"
FEATURES_FILE = "features.json"
# Exported: the smallest grids that training left, floats for LiteRT, floats for ONNX Runtime; for MediaPipe Tasks the
# numbers of the first, or of the second where there is no first.
TFLITE_FILE = "model.tflite"
TFLITE_FLOAT_FILE = "model_float32.tflite"
ONNX_FILE = "model.onnx"
# Of a pushed folder, the one that answers is the first of these that is there: what answers best for its size.
ANSWERING_FILES = (TFLITE_FILE, TFLITE_FLOAT_FILE, ONNX_FILE)
MEDIAPIPE_FILE = "model_mediapipe.tflite"
# Takes text; the numbers are those of the first, or of the second where there is no first.
TEXT_FILE = "model_text.tflite"
# Inside that for MediaPipe, a label a line.
LABELS_TEXT = "labels.txt"
# Of exported and pushed folders: number formats, lengths, libraries and measurements of each file.
EXPORT_FILE = "export.json"
# For whoever writes an app: what it has to get, what each character is to a tokenizer, the model in a page, and
# tokenizers to copy.
GOLDEN_FILE = "golden.json"
CHARACTERS_FILE = "characters.txt"
PAGE_FILE = "index.html"
TOKENIZERS_FOLDER = "tokenizers"
# For transformers.js, which looks for these names in a folder of Hugging Face's layout: the numbers of a "dtype" each.
WEB_FOLDER = "transformers_js"
WEB_FILE = f"{WEB_FOLDER}/onnx/model.onnx"
WEB_HALF_FILE = f"{WEB_FOLDER}/onnx/model_fp16.onnx"
WEB_INT8_FILE = f"{WEB_FOLDER}/onnx/model_quantized.onnx"
# Of models whose activations have ranges alone.
WEB_STATIC_FILE = f"{WEB_FOLDER}/onnx/model_int8.onnx"
WEB_FILES = (WEB_FILE, WEB_HALF_FILE, WEB_INT8_FILE, WEB_STATIC_FILE)

_PATTERN = re.compile(r"[*?\[\\]")


@contextmanager
def temporary_folder() -> Iterator[str]:
    """A temporary folder for TensorFlow, which reads paths of variables as patterns: `[` in one matches no file.

    It lies in the usual folder for temporary files, or in `/tmp` where the path of that folder would be a pattern.

    Examples:
        >>> with temporary_folder() as folder:
        ...     os.path.isdir(folder)
        True
        >>> os.path.isdir(folder)
        False
    """
    parent = tempfile.gettempdir()
    with tempfile.TemporaryDirectory(dir="/tmp" if _PATTERN.search(parent) else parent) as folder:  # noqa: S108
        yield folder


@contextmanager
def staged_files(folder: Path) -> Iterator[Path]:
    """A temporary folder whose files move into `folder` when all are written, and replace files of the same names.

    Files keep their sub-folders. If writing fails, `folder` stays as it was. Missing parents are made.

    Raises:
        NotADirectoryError: `folder` is a file.

    Examples:
        >>> with staged_files(Path("model")) as staging:
        ...     _ = (staging / "vocab.txt").write_text("film")
        ...     os.path.exists("model")
        False
        >>> os.listdir("model")
        ['vocab.txt']
    """
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"{folder} must be a folder, got a file")
    folder.parent.mkdir(parents=True, exist_ok=True)
    # Inside of an existing folder, which may be a mounted disk: files can only be moved within a disk.
    parent = folder if folder.exists() else folder.parent
    with tempfile.TemporaryDirectory(dir=parent, prefix=f".{folder.name}-") as staging:
        yield Path(staging)
        folder.mkdir(exist_ok=True)
        for file in sorted(path for path in Path(staging).rglob("*") if path.is_file()):
            target = folder / file.relative_to(staging)
            target.parent.mkdir(parents=True, exist_ok=True)
            os.replace(file, target)
