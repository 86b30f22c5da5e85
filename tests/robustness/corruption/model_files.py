"""Formats of checkpoints, tokenizers and exported files; writing and reading them imports TensorFlow."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.robustness.corruption.format import FOLDER, Format

if TYPE_CHECKING:
    from keras_bert.tasks.base import Task

_WORDS = ("cow", "hen", "went", "by", ".", *(f"##{letter}" for letter in "abcdefgh"))
_LENGTH = 16
_REFUSALS = (FileNotFoundError, ValueError)


def _task(name: str, **settings: Any) -> "Task":
    import keras

    from keras_bert.core.config import EncoderConfig
    from keras_bert.models.encoder import build_encoder
    from keras_bert.tasks.registry import TASKS
    from keras_bert.tokenizers.tokenizer import Tokenizer
    from keras_bert.tokenizers.wordpiece_vocabulary import SPECIAL_TOKENS

    keras.utils.set_random_seed(0)
    tokenizer = Tokenizer([*SPECIAL_TOKENS, *_WORDS], lowercase=True)
    config = EncoderConfig(
        vocabulary_size=tokenizer.vocabulary_size,
        hidden_size=8,
        num_layers=1,
        num_heads=2,
        intermediate_size=16,
        max_length=_LENGTH,
        activation="gelu_tanh",
    )
    return TASKS[name].build(build_encoder(config), tokenizer, max_length=_LENGTH, **settings)


def _classifier() -> "Task":
    return _task("classification", labels=["no", "yes"])


def _write_hugging_face(folder: Path) -> None:
    from keras_bert.interop.configs import write_json
    from keras_bert.interop.hugging_face import to_hugging_face
    from keras_bert.interop.tokenizer_json import write_tokenizer

    task = _classifier()
    to_hugging_face(task, folder)
    write_json(folder / "tokenizer.json", write_tokenizer(task.tokenizer.vocabulary, lowercase=True))
    write_json(folder / "special_tokens_map.json", {"cls_token": "[CLS]", "pad_token": {"content": "[PAD]"}})


def _write_shards(folder: Path) -> None:
    from safetensors.numpy import load_file, save_file

    from keras_bert.interop.configs import write_json

    _write_hugging_face(folder)
    tensors = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    places = {name: f"model-0000{1 + number % 2}-of-00002.safetensors" for number, name in enumerate(sorted(tensors))}
    for shard in set(places.values()):
        save_file({name: tensors[name] for name in tensors if places[name] == shard}, folder / shard)
    write_json(folder / "model.safetensors.index.json", {"metadata": {}, "weight_map": places})


def _write_pickle(folder: Path) -> None:
    from safetensors.numpy import load_file

    from tests.keras_bert.interop.pickled import write_pickle

    _write_hugging_face(folder)
    write_pickle(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()


def _write_sentence_embedding(folder: Path) -> None:
    from keras_bert.interop.hugging_face import to_hugging_face

    to_hugging_face(_task("embedding", normalize=True), folder)


def _write_subwords(kind: str) -> Callable[[Path], object]:
    def write(folder: Path) -> None:
        import json

        from keras_bert.tokenizers.subwords import SubwordTokenizer
        from tests.keras_bert.tokenizers import subwords

        SubwordTokenizer(json.loads(getattr(subwords, kind)())).save(folder)

    return write


def _write_slow(name: str) -> Callable[[Path], object]:
    def write(folder: Path) -> None:
        import shutil

        from tests.keras_bert.interop.checkpoints import GOLDEN

        shutil.copytree(GOLDEN / "slow_tokenizers" / name, folder, dirs_exist_ok=True)

    return write


def _read_slow(folder: Path) -> None:
    from keras_bert.interop.vocabularies import read_definition
    from keras_bert.tokenizers.eager import EagerSubwords

    EagerSubwords(read_definition(folder) or {}).tokenize(["the cow went by"])


def _slow(file: str, name: str) -> Format:
    return Format(file, _write_slow(name), _read_slow, _REFUSALS, "")


def _write_wordpiece(folder: Path) -> None:
    _classifier().tokenizer.save(folder)


def _read_hugging_face(folder: Path) -> None:
    from keras_bert.interop.hugging_face import from_hugging_face

    from_hugging_face(folder).predict(["the cow"])


def _read_tokenizer(folder: Path) -> None:
    from keras_bert.tokenizers.loading import load_tokenizer

    load_tokenizer(folder).tokenize(["the cow went by"])


def _write_saved(folder: Path) -> None:
    _classifier().save(folder)


def _read_saved(folder: Path) -> None:
    from keras_bert.tasks.registry import load

    load(folder).predict(["the cow"])


def _write_adapter(folder: Path) -> None:
    from keras_bert.options.adaptation import Lora

    base = _classifier()
    base.save(folder / "base")
    base.adapt(Lora(rank=2))
    base.save_adapter(folder)


def _read_adapter(folder: Path) -> None:
    from keras_bert.tasks.registry import load_adapter

    load_adapter(folder, _base(folder.parent))


@functools.cache
def _base(folder: Path) -> "Task":
    """The valid base model of the adapters, cached: loading it takes longer than all the rest."""
    from keras_bert.tasks.registry import load

    return load(folder / "valid" / "base")


def _write_tf1(folder: Path) -> None:
    from keras_bert.interop.tf1 import to_tf1

    to_tf1(_task("embedding"), folder / "m")


def _read_tf1(folder: Path) -> None:
    from keras_bert.interop.tf1 import from_tf1

    from_tf1(folder / "m", lowercase=True)


def _write_exported(folder: Path) -> None:
    import json

    from keras_bert.export.attachments import attach_entries
    from tests.model_files import write_file

    task = _classifier()
    recipe = {"weights": "float32", "lengths": [8, _LENGTH], "libraries": {"keras": "3"}}
    scores = {"accuracy": {"mean": 0.9, "sd": None, "seeds": [0.9]}}
    metrics = {
        "task": task.name,
        "metric": "accuracy",
        "kept": 0,
        "rows": {"test": 10},
        "slices": [{"kind": "length", "value": "1-8", "rows": 10, "score": 0.9, "low": 0.7, "high": 1.0}],
        "shipped": "tflite float32",
        "models": {"tflite float32": {"metrics": scores}, "teacher": {"metrics": scores}},
    }
    task.save_settings(folder)
    (folder / "metrics.json").write_text(json.dumps(metrics))
    for name in ("model_float32.tflite", "model.onnx", "saved_model.pb"):
        write_file(task, folder / name, (8, _LENGTH))
        described = {"export.json": {name: recipe}, "metrics.json": metrics, "origin.json": {"examples": "0123"}}
        attach_entries(folder / name, {key: json.dumps(value).encode() for key, value in described.items()})


def _exported(file: str, corrupted: str = "", *, alone: bool = False) -> Format:
    """An exported file as `predict` reads it, in its folder or alone; `corrupted` is the corrupted one of its files."""

    def read(folder: Path) -> None:
        from keras_bert.export.bundle import load_exported

        task = load_exported(folder / file) if alone else load_exported(folder, file)
        task.predict(["the cow went by"])

    return Format(corrupted or file, _write_exported, read, _REFUSALS)


def _described(file: str) -> Format:
    def read(folder: Path) -> None:
        import io

        from rich.console import Console

        from pipeline.views.description import read_description, show_description

        show_description(read_description(folder / file), Console(file=io.StringIO()))

    from components.dsl.errors import InputError

    return Format(file, _write_exported, read, (InputError,))


def _hugging_face(
    file: str, write: Callable[[Path], object] = _write_hugging_face, mentions: str | None = None
) -> Format:
    return Format(file, write, _read_hugging_face, _REFUSALS, mentions)


def _saved(file: str) -> Format:
    return Format(file, _write_saved, _read_saved, _REFUSALS)


def _tokenizer(file: str, write: Callable[[Path], object]) -> Format:
    return Format(file, write, _read_tokenizer, _REFUSALS)


FORMATS: dict[str, Format] = {
    "safetensors": _hugging_face("model.safetensors", mentions=FOLDER),
    "safetensors shard": _hugging_face("model-00001-of-00002.safetensors", _write_shards, FOLDER),
    "safetensors index": _hugging_face("model.safetensors.index.json", _write_shards, FOLDER),
    "pytorch_model.bin": _hugging_face("pytorch_model.bin", _write_pickle, FOLDER),
    "config.json": _hugging_face("config.json", mentions=FOLDER),
    "tokenizer_config.json": _hugging_face("tokenizer_config.json"),
    "special_tokens_map.json": _hugging_face("special_tokens_map.json"),
    "tokenizer.json of a checkpoint": _hugging_face("tokenizer.json"),
    "vocab.txt of a checkpoint": _hugging_face("vocab.txt"),
    "modules.json": _hugging_face("modules.json", _write_sentence_embedding, FOLDER),
    "pooling": _hugging_face("1_Pooling/config.json", _write_sentence_embedding),
    "vocab.txt": _tokenizer("vocab.txt", _write_wordpiece),
    "tokenizer.json": _tokenizer("tokenizer.json", _write_wordpiece),
    "tokenizer.json, BPE": _tokenizer("tokenizer.json", _write_subwords("bpe")),
    "tokenizer.json, unigram": _tokenizer("tokenizer.json", _write_subwords("unigram")),
    "spm.model": _slow("spm.model", "deberta-v3"),
    "vocab.json": _slow("vocab.json", "roberta"),
    "merges.txt": _slow("merges.txt", "roberta"),
    "model.keras": _saved("model.keras"),
    "task.json": _saved("task.json"),
    "adapter.safetensors": Format("adapter.safetensors", _write_adapter, _read_adapter, _REFUSALS),
    "adapter.json": Format("adapter.json", _write_adapter, _read_adapter, _REFUSALS, FOLDER),
    "tf1 index": Format("m.index", _write_tf1, _read_tf1, _REFUSALS, mentions="/m"),
    "tf1 data": Format("m.data-00000-of-00001", _write_tf1, _read_tf1, _REFUSALS, mentions="/m"),
    "bert_config.json": Format("bert_config.json", _write_tf1, _read_tf1, _REFUSALS, FOLDER),
    "tflite": _exported("model_float32.tflite"),
    "tflite alone": _exported("model_float32.tflite", alone=True),
    "tflite described": _described("model_float32.tflite"),
    "onnx": _exported("model.onnx"),
    "onnx alone": _exported("model.onnx", alone=True),
    "onnx described": _described("model.onnx"),
    "saved_model.pb": _exported("saved_model.pb"),
    "task.json, pushed": _exported("model.onnx", "task.json"),
    "metrics.json, pushed": _exported("model.onnx", "metrics.json"),
}
