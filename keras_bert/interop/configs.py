"""The encoder's configuration in `config.json` and `bert_config.json`, which share their keys."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from keras_bert.config import Activation, EncoderConfig

# Our field -> their key, by the type of the value.
_NUMBERS = {
    "vocabulary_size": "vocab_size",
    "hidden_size": "hidden_size",
    "num_layers": "num_hidden_layers",
    "num_heads": "num_attention_heads",
    "intermediate_size": "intermediate_size",
    "max_length": "max_position_embeddings",
    "num_segments": "type_vocab_size",
}
_RATES = {
    "dropout": "hidden_dropout_prob",
    "attention_dropout": "attention_probs_dropout_prob",
    "initializer_range": "initializer_range",
    "layer_norm_epsilon": "layer_norm_eps",
}
_ACTIVATION = "hidden_act"


def read_json(path: Path, kind: type = dict) -> Any:
    """The value in a JSON file.

    Args:
        path: of the file.
        kind: of the value: dict for an object, list for an array.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it holds no JSON, or another kind of value.
    """
    if not path.is_file():
        raise FileNotFoundError(f"{path.parent} has no {path.name}")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} must hold JSON: {error}") from error
    if not isinstance(content, kind):
        raise ValueError(f"{path} must hold a JSON {kind.__name__}, got {type(content).__name__}")
    return content


def write_json(path: Path, content: Any) -> None:
    """Writes a value as JSON; equal values give equal bytes."""
    path.write_text(json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")


def check_only(path: Path, content: Mapping[str, Any], only: Mapping[str, Any]) -> None:
    """Refuses values that change what a model computes and that this library does not have.

    Args:
        path: of the file, for messages.
        content: of the file.
        only: key -> the one value that is supported; keys may be absent or null.

    Raises:
        ValueError: a key has another value.
    """
    for key, value in only.items():
        if content.get(key) is not None and content[key] != value:
            supported = "be absent" if value is None else f"be {value!r}"
            raise ValueError(f"{path}: {key} must {supported}, got {content[key]!r}, which is not supported")


def read_length(path: Path, content: Mapping[str, Any], key: str) -> int | None:
    """The most tokens of an input that a file allows; None where it does not say, or says 1e30 for no limit.

    Raises:
        ValueError: the value is no whole number above 0.
    """
    value = content.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise ValueError(f"{path}: {key} must be a whole number above 0, got {value!r}")
    if value >= 1e9:
        return None
    if value != int(value):
        raise ValueError(f"{path}: {key} must be a whole number above 0, got {value!r}")
    return int(value)


def read_encoder_config(path: Path, content: Mapping[str, Any], activations: Mapping[str, Activation]) -> EncoderConfig:
    """The configuration that a file describes.

    Args:
        path: of the file, for messages.
        content: of the file, with what the library takes for granted.
        activations: their name -> ours.

    Raises:
        ValueError: a key is missing, or its value is of no use.
    """
    for key in (*_NUMBERS.values(), *_RATES.values(), _ACTIVATION):
        if key not in content:
            raise ValueError(f"{path} must say {key}")
    for kind, noun, keys in ((int, "a whole number", _NUMBERS), (float, "a number", _RATES)):
        for key in keys.values():
            value = content[key]
            if isinstance(value, bool) or not isinstance(value, int if kind is int else (int, float)):
                raise ValueError(f"{path}: {key} must be {noun}, got {value!r}")
    if not isinstance(content[_ACTIVATION], str) or content[_ACTIVATION] not in activations:
        raise ValueError(f"{path}: {_ACTIVATION} must be one of {sorted(activations)}, got {content[_ACTIVATION]!r}")
    try:
        return EncoderConfig(
            **{field: content[key] for field, key in (_NUMBERS | _RATES).items()},
            activation=activations[content[_ACTIVATION]],
        )
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def write_encoder_config(config: EncoderConfig, activation: str) -> dict[str, Any]:
    """What `read_encoder_config` reads; `activation` is their name for it."""
    values = {key: getattr(config, field) for field, key in (_NUMBERS | _RATES).items()}
    return {**values, _ACTIVATION: activation}
