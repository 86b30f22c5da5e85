"""`config.json` of Hugging Face: the encoder, the head, and what of it this library does not do.

Keys and defaults are those of the families' own configurations and of `configuration_utils.py` of
huggingface/transformers.
"""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from keras_bert.config import EncoderConfig
from keras_bert.interop.configs import check_only, read_encoder_config, read_json, read_number, write_encoder_config
from keras_bert.interop.families import find_family
from keras_bert.interop.family import ACTIVATIONS, BOTH_HEADS, WRITTEN_ACTIVATIONS, Family, class_of
from keras_bert.interop.heads import Head, check_pooling
from keras_bert.options.pooling import Pooling

FILE = "config.json"

# Keys that change what transformers computes, with the one value that this library has.
_ONLY: dict[str, Any] = {
    "position_embedding_type": "absolute",
    "is_decoder": False,
    "is_encoder_decoder": False,
    "add_cross_attention": False,
    "pruned_heads": {},
    "quantization_config": None,
    "auto_map": None,
}
# Heads on one vector for the whole text.
_OF_TEXTS = ("classification", "regression")
# Where sentence-transformers' CrossEncoder keeps what it applies to the logits.
_CROSS_ENCODER_KEYS = ("sbert_ce_default_activation_function", "sentence_transformers")


def read_config(folder: Path) -> tuple[Family, dict[str, Any]]:
    """The content of `config.json`, with what the family takes for granted, and whose it is.

    Raises:
        FileNotFoundError: there is none.
        ValueError: it describes a model that this library does not have.
    """
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {folder}; checkpoints are not downloaded")
    path = folder / FILE
    said: dict[str, Any] = read_json(path)
    family = find_family(said.get("model_type"), str(path))
    content = {**family.defaults, **said}
    check_only(path, content, {**_ONLY, **family.only})
    for key in _CROSS_ENCODER_KEYS:
        value = content.get(key)
        activation = value.get("activation_fn") if isinstance(value, dict) else value
        if activation is not None and not str(activation).endswith("Identity"):
            raise ValueError(
                f"{path}: {key} must ask for no activation of the logits, got {activation!r}, which is not "
                "supported; without the key, the model gives logits"
            )
    architecture_of(path, family, content)
    return family, content


def architecture_of(path: Path, family: Family, content: Mapping[str, Any]) -> str:
    """The class of the family that a file names.

    Raises:
        ValueError: it names none, or several.
    """
    named = content.get("architectures") or family.defaults.get("architectures", [])
    known = family.architectures()
    if not (isinstance(named, list) and len(named) == 1 and isinstance(named[0], str) and named[0] in known):
        raise ValueError(f"{path}: architectures must be one of {list(known)}, got {named!r}")
    return str(named[0])


def read_encoder(folder: Path, family: Family, content: Mapping[str, Any]) -> EncoderConfig:
    """The encoder that the file describes.

    Raises:
        ValueError: a key is missing, or its value is of no use.
    """
    path = folder / FILE
    fixed = {**family.fixed, **{field: _read_value(path, family, content, field) for field in family.values}}
    if family.read_variant is not None:
        try:
            fixed["variant"] = family.read_variant(content)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error
    config = read_encoder_config(path, content, family.keys, ACTIVATIONS, fixed)
    if family.text_activation and family.architectures()[architecture_of(path, family, content)] in _OF_TEXTS:
        config = dataclasses.replace(config, pooler_activation=config.activation)
    if not family.dropout_before_pooler:
        return config
    return dataclasses.replace(config, pooler_dropout=_read_dropout(path, family, content, "classification"))


def read_head(folder: Path, family: Family, content: Mapping[str, Any], *, next_sentence: bool) -> Head:
    """The head that the file describes; an embedding's pooling stands elsewhere.

    Args:
        folder: of the file, for messages.
        family: whose it is.
        content: of the file.
        next_sentence: whether the checkpoint holds the second head of pre-training.

    Raises:
        ValueError: this library has no such head.
    """
    path = folder / FILE
    architecture = architecture_of(path, family, content)
    task = family.architectures()[architecture]
    if task == "pretraining":
        check_only(path, content, {"tie_word_embeddings": True})
        return Head(task=task, next_sentence=next_sentence or architecture.endswith(BOTH_HEADS))
    separator = _read_separator(path, content) if family.separator and task == "question_answering" else None
    if task == "embedding" or task not in family.classifier_dropout:
        return Head(task=task, separator=separator)
    dropout = _read_dropout(path, family, content, task)
    if task == "question_answering":
        return Head(task=task, dropout=dropout, separator=separator)
    labels = _read_labels(path, content)
    if task == "token_classification":
        return Head(task=task, labels=labels, dropout=dropout)
    regression = len(labels) == 1
    check_only(path, content, {"problem_type": "regression" if regression else "single_label_classification"})
    pooling = _read_pooling(path, family, content)
    if regression:
        return Head(task="regression", dropout=dropout, pooling=pooling)
    return Head(task=task, labels=labels, dropout=dropout, pooling=pooling)


def write_config(
    config: EncoderConfig, head: Head, family: Family, pad_id: int, sep_id: int | None = None
) -> dict[str, Any]:
    """The content of `config.json`; `read_encoder` and `read_head` read it.

    Args:
        config: of the encoder.
        head: what stands on it.
        family: to write it as.
        pad_id: the tokenizer's id of padding.
        sep_id: its separator's.

    Raises:
        ValueError: the family has no such head, none on the mean, or one whose layer has another activation.
    """
    if family.text_activation:
        _check_activation(config, head)
    architecture = family.architecture(head.task, next_sentence=head.next_sentence)
    if family.classifier_pooling is None:
        check_pooling(head)
    content: dict[str, Any] = {
        "model_type": family.name,
        **write_encoder_config(config, family.keys, WRITTEN_ACTIVATIONS[config.activation]),
        **{family.keys[field]: _their_value(family, config, field) for field in family.values},
        **({} if family.write_variant is None else family.write_variant(config)),
        **{key: value for key, value in {**_ONLY, **family.only}.items() if value not in (None, {})},
        "architectures": [architecture],
        "pad_token_id": pad_id,
        "tie_word_embeddings": True,
        **({"sep_token_id": head.separator or sep_id} if family.separator else {}),
    }
    if head.task in ("classification", "regression", "token_classification"):
        labels = head.labels or ("LABEL_0",)
        content["id2label"] = {str(number): label for number, label in enumerate(labels)}
        content["label2id"] = {label: number for number, label in enumerate(labels)}
    if class_of(head.task) in family.classifier_dropout:
        content[family.classifier_dropout[class_of(head.task)]] = head.dropout
    if head.task in ("classification", "regression"):
        if family.classifier_pooling is not None:
            content[family.classifier_pooling] = head.pooling
        content["problem_type"] = "regression" if head.task == "regression" else "single_label_classification"
    return content


def _check_activation(config: EncoderConfig, head: Head) -> None:
    """That of the layer between the first token and a classifier, where a family has another one there."""
    wanted = config.activation if head.task in _OF_TEXTS else "tanh"
    if head.reads_pooler and config.pooler_activation != wanted:
        rule = f"be {wanted!r} under a head for {head.task}, as transformers has no other"
        raise ValueError(f"pooler_activation must {rule}, got {config.pooler_activation!r}")


def _read_separator(path: Path, content: Mapping[str, Any]) -> int:
    try:
        return int(read_number("sep_token_id", content.get("sep_token_id"), whole=True))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def _read_value(path: Path, family: Family, content: Mapping[str, Any], field: str) -> Any:
    key, values = family.keys[field], family.values[field]
    said = content.get(key)
    if said not in list(values):
        raise ValueError(f"{path}: {key} must be one of {list(values)}, got {said!r}")
    return values[said]


def _their_value(family: Family, config: EncoderConfig, field: str) -> Any:
    return next(theirs for theirs, ours in family.values[field].items() if ours == getattr(config, field))


def _read_dropout(path: Path, family: Family, content: Mapping[str, Any], task: str) -> float:
    key = family.classifier_dropout[class_of(task)]
    rate = content.get(key)
    if rate is None:
        rate = content[family.keys["dropout"]]
    elif isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 <= rate < 1:
        raise ValueError(f"{path}: {key} must be a number from 0 on and below 1, or null, got {rate!r}")
    return float(rate)


def _read_pooling(path: Path, family: Family, content: Mapping[str, Any]) -> Pooling:
    if family.classifier_pooling is None:
        return "cls"
    found: Pooling = content[family.classifier_pooling]
    if found not in get_args(Pooling):
        raise ValueError(f"{path}: {family.classifier_pooling} must be one of {get_args(Pooling)}, got {found!r}")
    return found


def _read_labels(path: Path, content: Mapping[str, Any]) -> tuple[str, ...]:
    """Names by number; transformers leaves them out where they are the two of its default."""
    names = content.get("id2label")
    if names is None:
        count = content.get("num_labels", 2)
        if type(count) is not int or count < 1:
            raise ValueError(f"{path}: num_labels must be a whole number above 0, got {count!r}")
        labels = tuple(f"LABEL_{number}" for number in range(count))
    elif not isinstance(names, dict) or set(names) != {str(number) for number in range(len(names))}:
        raise ValueError(f"{path}: id2label must map the numbers from 0 on to names, got {names!r}")
    else:
        labels = tuple(str(names[str(number)]) for number in range(len(names)))
    _check_numbers(path, content.get("label2id"), labels)
    return labels


def _check_numbers(path: Path, numbers: Any, labels: tuple[str, ...]) -> None:
    """`label2id`, where it is there, is `id2label` turned round; some files hold its numbers as text."""
    if numbers is None:
        return
    if not isinstance(numbers, dict):
        raise ValueError(f"{path}: label2id must map names to numbers, got {numbers!r}")
    said = {(label, str(number)) for label, number in numbers.items()}
    if said - {(label, str(number)) for number, label in enumerate(labels)} or set(numbers) != set(labels):
        raise ValueError(f"{path}: label2id must be id2label turned round, {list(labels)}, got {numbers!r}")
