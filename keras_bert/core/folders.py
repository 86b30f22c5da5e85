"""The names of files, inputs and outputs, and folders whose files appear all at once."""

import json
import os
import re
import tempfile
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# The inputs of every model, each int32 (batch, length), and the output of exported models.
INPUT_NAMES = ("token_ids", "segment_ids", "padding_mask")
LOGITS = "logits"
# Outputs by transformers' names; the last is Optimum's for the vector that sentence-transformers computes.
START_LOGITS, END_LOGITS = "start_logits", "end_logits"
HIDDEN_STATES, SENTENCE_VECTOR = "last_hidden_state", "sentence_embedding"

MODEL_FILE = "model.keras"
QUANTIZATION_FILE = "quantization.json"
TASK_FILE = "task.json"
METRICS_FILE = "metrics.json"
ADAPTER_FOLDER = "adapter"
VOCABULARY_FILE = "vocab.txt"
TOKENIZER_FILE = "tokenizer.json"
TOKENIZER_FILES = (VOCABULARY_FILE, TOKENIZER_FILE)
# The weights of transformers, each whole or the index of its shards: the first that a folder has is read.
WEIGHT_FILES = (
    "model.safetensors",
    "model.safetensors.index.json",
    "model.fp16.safetensors",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
)
# Files and folders of other models -> what they are, and what to do.
_OTHER_MODELS = {
    "adapter_config.json": "an adapter of peft: read its base, and then the adapter by keras_bert.from_peft",
    "gliner_config.json": "a GLiNER, which finds entities by name: fine-tune an encoder for token classification",
    "0_StaticEmbedding": "a table of static embeddings: start from a checkpoint with an encoder",
    "router_config.json": "a Router of encoders for queries and documents: name the folder of one of them",
}
# Exports and weights of other libraries, which are not read.
_OTHER_WEIGHTS = ("onnx", "openvino", "tf_model.h5", "flax_model.msgpack")
LABELS_FILE = "labels.json"
FEATURES_FILE = "features.json"
# Exported files: the quantized model and the float32 model for LiteRT, and the float32 model for ONNX Runtime.
TFLITE_FILE = "model.tflite"
TFLITE_FLOAT_FILE = "model_float32.tflite"
ONNX_FILE = "model.onnx"
# For TensorFlow and TensorFlow Serving, which want this name at the top of a version's folder; the rest of the model
# is in the files and folders of `SAVED_MODEL_PARTS` beside it. In the last are the files that we attach.
SAVED_MODEL_FILE = "saved_model.pb"
SAVED_MODEL_PARTS = ("variables", "assets", "assets.extra")
ATTACHMENTS_FOLDER = SAVED_MODEL_PARTS[-1]
CALIBRATION_FILE = "assets/calibration.txt"
# The file of a pushed folder that `predict` uses is the first of these that exists.
ANSWERING_FILES = (TFLITE_FILE, TFLITE_FLOAT_FILE, ONNX_FILE, SAVED_MODEL_FILE)
# The settings of a file that has none attached are at most so many folders above it.
LEVELS_ABOVE = 4
# For MediaPipe Tasks; quantized if the model is.
MEDIAPIPE_FILE = "model_mediapipe.tflite"
# Takes text; quantized if the model is.
TEXT_FILE = "model_text.tflite"
# Attached to the file for MediaPipe: one label on each line.
LABELS_TEXT = "labels.txt"
# In exported and pushed folders: number formats, lengths, libraries and measurements of each file.
EXPORT_FILE = "export.json"
# Files that were compiled for accelerators, and what each accelerator takes.
ACCELERATORS_FOLDER = "accelerators"
COVERAGE_FILE = f"{ACCELERATORS_FOLDER}/coverage.json"
# For apps: golden outputs, the rules of tokenizers, a page with the model, and tokenizers to copy.
GOLDEN_FILE = "golden.json"
SELF_TEST_FILE = "self_test.json"
CHARACTERS_FILE = "characters.txt"
SUBWORDS_FILE = "subwords.txt"
PAGE_FILE = "index.html"
TOKENIZERS_FOLDER = "tokenizers"
# For transformers.js, which expects these names in a folder of Hugging Face's layout: one file for each "dtype".
WEB_FOLDER = "transformers_js"
WEB_FILE = f"{WEB_FOLDER}/onnx/model.onnx"
WEB_HALF_FILE = f"{WEB_FOLDER}/onnx/model_fp16.onnx"
WEB_INT8_FILE = f"{WEB_FOLDER}/onnx/model_quantized.onnx"
# Only for models with activation ranges.
WEB_STATIC_FILE = f"{WEB_FOLDER}/onnx/model_int8.onnx"
WEB_FILES = (WEB_FILE, WEB_HALF_FILE, WEB_INT8_FILE, WEB_STATIC_FILE)

_PATTERN = re.compile(r"[*?\[\\]")


def model_parts(file: str) -> tuple[str, ...]:
    """The folders with the rest of a model beside the file of its graph; in a format of a plug-in it is `weights`."""
    if file.endswith(SAVED_MODEL_FILE):
        return SAVED_MODEL_PARTS
    return () if file.endswith((".tflite", ".onnx")) else ("weights",)


@contextmanager
def temporary_folder() -> Iterator[str]:
    """A temporary folder for TensorFlow, which reads paths of variables as patterns: `[` in one matches no file.

    It lies in the usual folder for temporary files, or in `/tmp` where the path of that folder would be a pattern.
    """
    parent = tempfile.gettempdir()
    with tempfile.TemporaryDirectory(dir="/tmp" if _PATTERN.search(parent) else parent) as folder:  # noqa: S108
        yield folder


@contextmanager
def staged_files(folder: Path) -> Iterator[Path]:
    """A temporary folder whose files move into `folder` when all are written, and replace files of the same names.

    Files keep their sub-folders. If writing fails, `folder` stays as it was. Missing parents are made.
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


@contextmanager
def replaced_file(file: Path, scratch: str | os.PathLike[str] | None = None) -> Iterator[Path]:
    """A path to write to, whose file replaces `file` at the end of the block: a reader sees the old or the new one.

    If writing fails, `file` stays as it was. Several processes may write the same file at once.

    `scratch` is a folder on the same file system for the unfinished file; None for the folder of `file`.
    """
    unfinished = Path(scratch or file.parent) / f".{file.name}.{uuid.uuid4().hex}"
    try:
        yield unfinished
        os.replace(unfinished, file)
    finally:
        unfinished.unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Waits until a file, or the list of a folder's entries, is written to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_whole(file: Path, content: Any) -> None:
    """Writes a JSON file as a whole, see `replaced_file`."""
    with replaced_file(file) as unfinished:
        unfinished.write_text(json.dumps(content), encoding="utf-8")


def hint_of_pointer(file: Path) -> str:
    """The end of an error message about a file of which only git's reference was downloaded; else empty."""
    with file.open("rb") as opened:
        is_pointer = opened.read(23) == b"version https://git-lfs"
    return "; it is a Git LFS pointer: run `git lfs pull`" if is_pointer else ""


def read_json_file(file: Path, kind: type = dict, error: type[ValueError] = ValueError) -> Any:
    """The content of a JSON file: an object, or a list. Raises `error` for a damaged file or another kind of value."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as problem:
        raise error(f"{file} must hold JSON: {problem}{hint_of_pointer(file)}") from None
    if not isinstance(content, kind):
        noun = "object" if kind is dict else kind.__name__
        raise error(f"{file} must hold a JSON {noun}, got {str(content)[:40]}")
    return content


def _versions(folder: Path) -> list[str]:
    """Returns the numbered folders of a pushed model, the lowest first."""
    names = [entry.name for entry in folder.glob("*") if entry.name.isdecimal() and (entry / TASK_FILE).is_file()]
    return sorted(names, key=int)


def hint_of_versions(folder: Path) -> str:
    """The end of an error message about a folder that contains versions, or folders of versions; else empty."""
    if versions := _versions(folder):
        return f"; its newest version is {folder / versions[-1]}"
    newest = [str(entry / versions[-1]) for entry in sorted(folder.glob("*")) if (versions := _versions(entry))]
    return f"; it holds models by name, newest versions: {', '.join(newest)}" if newest else ""


def hint_of_model(names: Iterable[str]) -> str:
    """The end of an error message about a folder or repository with files of another kind of model; else empty."""
    held = {name.partition("/")[0] for name in names}
    return next((f"; it is {kind}" for name, kind in _OTHER_MODELS.items() if name in held), "")


def hint_of_weights(folder: Path) -> str:
    """The end of an error message about a folder without weights: what it holds in their place, and what to do."""
    if (folder / TASK_FILE).is_file():
        pushed = "" if (folder / MODEL_FILE).is_file() else "; its files only answer, and cannot be trained"
        return f"; it is a model of this library, which keras_bert.load reads{pushed}"
    if versions := hint_of_versions(folder):
        return versions
    if hint := hint_of_model(entry.name for entry in folder.glob("*")):
        return hint
    held = " and ".join(name for name in _OTHER_WEIGHTS if (folder / name).exists())
    way = "transformers' AutoModel.from_pretrained(folder, from_tf=True or from_flax=True).save_pretrained(other)"
    return held and (
        f"; {held}, which it has, is not read: take the repository's {WEIGHT_FILES[0]} or, of a tf_model.h5 or "
        f"flax_model.msgpack, what version 4 of {way} writes"
    )
