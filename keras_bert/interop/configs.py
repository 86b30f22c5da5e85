"""The configuration of an encoder in `config.json` and `bert_config.json`, which share most keys, and of its head."""

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from keras_bert.core.config import Activation, EncoderConfig
from keras_bert.core.folders import read_json_file
from keras_bert.families.hugging_face import Family, classifies_texts, read_number
from keras_bert.families.registry import find_family_of
from keras_bert.options.data import Projection, Prompts, ScoreActivation, SimilarityFunction

CONFIG_FILE = "config.json"
# The configuration of an adapter of peft.
ADAPTER_FILE = "adapter_config.json"
_RATES = ("dropout", "attention_dropout", "pooler_dropout", "initializer_range", "layer_norm_epsilon")
_ACTIVATION = "activation"
# One token of a text between two special tokens.
_LEAST_LENGTH = 3


@dataclasses.dataclass(frozen=True, kw_only=True)
class Head:
    """The head of a checkpoint.

    Attributes:
        task: a key of `TASKS`.
        dropout: the dropout rate before the output layer, which embeddings and pre-training do not have; None for the
            default of the task.
        next_sentence: for pre-training, whether there is a head for the next sentence.
        transform_activation: for pre-training, the activation of the head; None for the encoder's.
        separator: the id of the separator behind a question, for question answering with a graph that reads it.
        projections: dense layers behind the pooling of an embedding.
        dimension: the width that the vectors of an embedding are cut to.
        activation: what a cross-encoder with one output does to its logit.
    """

    task: str
    labels: tuple[str, ...] = ()
    dropout: float | None = None
    next_sentence: bool = False
    transform_activation: Activation | None = None
    pooling: str = "cls"
    normalize: bool = True
    separator: int | None = None
    prompts: Prompts = Prompts()
    similarity_function: SimilarityFunction = "cosine"
    projections: tuple[Projection, ...] = ()
    dimension: int | None = None
    activation: ScoreActivation = "none"

    @property
    def reads_pooler(self) -> bool:
        """Whether the model needs the encoder's pooler; an embedding only keeps it."""
        return (classifies_texts(self.task) and self.pooling == "cls") or self.next_sentence


def check_pooling(head: Head) -> None:
    """Refuses a classifier with pooling by the mean, for libraries that have none."""
    if classifies_texts(head.task) and head.pooling != "cls":
        raise ValueError(
            f"{head.task}: pooling must be 'cls', got {head.pooling!r}: the BERTs of other libraries read the pooler's "
            "output here; build the task with pooling='cls'"
        )


def read_json(path: Path, kind: type = dict) -> Any:
    """Reads a JSON file, an object or another kind."""
    if not path.is_file():
        raise FileNotFoundError(f"{path.parent} has no {path.name}")
    return read_json_file(path, kind)


def read_family(path: Path) -> tuple[Family, dict[str, Any]]:
    """The family that a `config.json` names, and its content in the keys of transformers."""
    content: dict[str, Any] = read_json(path)
    try:
        family = find_family_of(content, str(path))
    except ValueError as error:
        if not content.get("auto_map"):
            raise
        raise ValueError(
            f"{error}; code of its own, auto_map {json.dumps(content['auto_map'])}, is never run"
        ) from None
    try:
        content = dict(content if family.translate is None else family.translate(content))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    # Code of its own may change any output; of the families that name some, `translate` knows what it does.
    check_only(path, content, {"auto_map": None})
    return family, content


def write_json(path: Path, content: Any) -> None:
    """Writes a value as JSON; equal values give equal bytes."""
    path.write_text(json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")


def check_only(path: Path, content: Mapping[str, Any], only: Mapping[str, Any]) -> None:
    """Refuses unsupported values of a file; `only` has the one supported value of each key, absent or null."""
    for key, value in only.items():
        if content.get(key) is not None and content[key] != value:
            supported = "be absent" if value is None else f"be {value!r}"
            raise ValueError(f"{path}: {key} must {supported}, got {content[key]!r}, which is not supported")


def read_length(path: Path, content: Mapping[str, Any], key: str) -> int | None:
    """The longest input in tokens that a file allows; None where it has no such key, or 1e30 for no limit."""
    value = content.get(key)
    if value is None:
        return None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and value >= 1e9:
        return None
    if not is_number or not value >= _LEAST_LENGTH or value != int(value):
        raise ValueError(f"{path}: {key} must be a whole number of at least {_LEAST_LENGTH}, got {value!r}")
    return int(value)


def read_encoder_config(
    path: Path,
    content: Mapping[str, Any],
    keys: Mapping[str, str],
    activations: Mapping[str, Activation],
    fixed: Mapping[str, Any] | None = None,
) -> EncoderConfig:
    """Reads the configuration of an encoder from a file's content, completed by the defaults of its library.

    `keys` are our field -> their key, `activations` their name -> ours, `fixed` our fields that are not in the file.
    """
    fields: dict[str, Any] = dict(fixed or {})
    for field, key in keys.items():
        if key not in content:
            raise ValueError(f"{path} must have the key {key}")
        value = content[key]
        if field == _ACTIVATION:
            if not isinstance(value, str) or value not in activations:
                raise ValueError(f"{path}: {key} must be one of {sorted(activations)}, got {value!r}")
            fields[field] = activations[value]
        elif field not in fields:
            fields[field] = read_number(f"{path}: {key}", value, whole=field not in _RATES)
    # Their number counts all rows of the position embedding, also those in front of the first token's.
    fields["max_length"] -= fields.get("position_offset", 0)
    if fields.get("embedding_size") == fields["hidden_size"] and not fields.get("shared_layers"):
        fields["embedding_size"] = None  # ELECTRA has no projection between equal sizes; ALBERT always has one
    try:
        return EncoderConfig(**fields)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def write_encoder_config(config: EncoderConfig, keys: Mapping[str, str], activation: str) -> dict[str, Any]:
    """The keys that `read_encoder_config` reads; `activation` is the name in the other library."""
    values = {key: getattr(config, field) for field, key in keys.items()}
    values[keys["max_length"]] += config.position_offset
    if "embedding_size" in keys and config.embedding_size is None:
        values[keys["embedding_size"]] = config.hidden_size
    return {**values, keys[_ACTIVATION]: activation}
