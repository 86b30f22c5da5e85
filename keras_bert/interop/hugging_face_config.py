"""Reads and writes `config.json` of transformers: the encoder and the head; refuses unsupported values.

Keys and defaults are those of the families' configurations and of `configuration_utils.py` of huggingface/transformers.
"""

import dataclasses
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np

from keras_bert.core.config import EncoderConfig
from keras_bert.core.folders import WEIGHT_FILES, hint_of_weights
from keras_bert.families.hugging_face import (
    ACTIVATIONS,
    BOTH_HEADS,
    WRITTEN_ACTIVATIONS,
    Family,
    class_of,
    classifies_texts,
    read_number,
)
from keras_bert.interop.configs import (
    ADAPTER_FILE,
    CONFIG_FILE,
    Head,
    check_only,
    check_pooling,
    read_encoder_config,
    read_family,
    write_encoder_config,
)
from keras_bert.interop.names import present_names
from keras_bert.interop.safetensors_files import open_tensors
from keras_bert.interop.sentence_transformers import (
    SETTINGS_FILE,
    makes_vectors,
    read_length_file,
    read_pooling,
    read_settings,
    transformer_folder,
)
from keras_bert.interop.vocabularies import (
    add_unused_tokens,
    check_size,
    name_unused_tokens,
    read_definition,
    read_max_length,
    read_vocabulary,
)
from keras_bert.options.data import Lowercasing, Pooling, ScoreActivation
from keras_bert.tokenizers.base import BaseTokenizer

logger = logging.getLogger(__name__)

# Keys that change the outputs in transformers -> the one supported value.
_ONLY: dict[str, Any] = {
    "is_decoder": False,
    "is_encoder_decoder": False,
    "add_cross_attention": False,
    "pruned_heads": {},
    "quantization_config": None,
}
# Task -> a layer that only its head has; ModernBERT's heads share other layers.
_OUTPUTS = {
    "pretraining": "masked_token_bias",
    "classification": "classifier",
    "token_classification": "classifier",
    "question_answering": "span_classifier",
    "replaced_tokens": "replaced_token_classifier",
}
# Task -> the key `problem_type` of a classifier of texts.
_PROBLEMS = {
    "classification": "single_label_classification",
    "multi_label": "multi_label_classification",
    "regression": "regression",
}
# The keys of sentence-transformers' CrossEncoder for an activation of the logits, the older one last.
_CROSS_ENCODER_KEYS = ("sentence_transformers", "sbert_ce_default_activation_function")
# The letters of the last and of the only word of an entity, in BILOU and in IOBES.
_IOBES = str.maketrans("LU", "ES")
# Our activation -> its class in PyTorch.
_ACTIVATION_CLASSES: dict[ScoreActivation, str] = {
    "none": "torch.nn.modules.linear.Identity",
    "sigmoid": "torch.nn.modules.activation.Sigmoid",
}


def read_config(folder: Path, modules: Path | None = None) -> tuple[Family, dict[str, Any]]:
    """The family and the content of `config.json`, completed by the defaults of the family.

    `modules` is the folder of sentence-transformers' files, if it is another one.
    """
    if not folder.is_dir():
        hint = (
            f"name that of the file, {folder.parent}"
            if folder.is_file()
            else "a checkpoint of the hub is named OWNER/NAME"
        )
        raise FileNotFoundError(f"there is no folder {folder}; {hint}")
    path = folder / CONFIG_FILE
    if not path.is_file():
        raise FileNotFoundError(f"{folder} has no {CONFIG_FILE}{hint_of_weights(folder)}")
    if (folder / ADAPTER_FILE).is_file():
        raise ValueError(
            f"{folder} must not hold {ADAPTER_FILE} of peft beside a whole model: other libraries read its adapter on "
            "its base. Read the base, and then the adapter by keras_bert.from_peft, or remove the file"
        )
    family, file_content = read_family(path)
    content = {**family.defaults, **file_content, **read_length_file(folder)["config_args"]}
    check_only(path, content, {**_ONLY, **family.only})
    further = read_settings(modules or folder)
    named = (further, *(content.get(key) for key in _CROSS_ENCODER_KEYS))
    activations = (value.get("activation_fn") if isinstance(value, dict) else value for value in named)
    activation = next((name for name in activations if name is not None), None)
    content[_CROSS_ENCODER_KEYS[0]] = {"activation_fn": activation, "prompt": further["default_prompt"]}
    content["architectures"] = [_find_architecture(folder, family, content, modules or folder)]
    return family, content


def task_of(family: Family, content: Mapping[str, Any]) -> str:
    """The task of the class that `read_config` found."""
    return family.architectures()[content["architectures"][0]]


def _find_architecture(folder: Path, family: Family, content: Mapping[str, Any], modules: Path) -> str:
    """The class whose weights a folder holds: `modules.json` and the tensors decide what `architectures` leaves open.

    Further modules of sentence-transformers make an embedding of any checkpoint. Without them, a class counts if the
    file has tensors of its head; else the head that the file does have, if only one class has such a head.
    """
    path, named = folder / CONFIG_FILE, content.get("architectures") or []
    if not isinstance(named, list) or not all(isinstance(name, str) for name in named):
        raise ValueError(f"{path}: architectures must be a list of the names of classes, got {named!r}")
    classes, encoder = family.architectures(), family.architecture("embedding")
    if not any((folder / name).is_file() for name in WEIGHT_FILES) and len(named) == 1 and named[0] in classes:
        # Whoever opens the weights says that there are none.
        return named[0]
    tensors = open_tensors(folder)
    if content.get("model_type") is None and not any(f".{family.prefix}" in f".{name}" for name in tensors):
        raise ValueError(f"{path} must name a model_type, as no tensor is one of {family.name}'s, got {list(content)}")
    names, stems = present_names(tensors, family, str(folder)), family.stems("embedding")
    held = {
        name: task
        for name, task in classes.items()
        if task in _OUTPUTS and any(tensor.startswith(f"{family.stems(task)[_OUTPUTS[task]]}.") for tensor in names)
    }
    if BOTH_HEADS in family.classes and f"{stems['next_sentence']}.weight" not in names:
        held.pop(family.architecture("pretraining", next_sentence=True), None)
    copies = {copy: name for copy, name in family.copies("pretraining").items() if {copy, name} <= names.keys()}
    pairs = ((copy, tensors[names[copy]], tensors[names[original]]) for copy, original in copies.items())
    untied = next((copy for copy, first, second in pairs if not np.array_equal(first, second)), "")
    if untied:
        held = {name: task for name, task in held.items() if task != "pretraining"}
    if makes_vectors(modules):
        chosen = encoder
    elif len(named) == 1 and held.get(named[0]) == "pretraining":
        return [name for name, task in held.items() if task == "pretraining"][-1]
    elif len(named) == 1 and named[0] in (*held, encoder):
        return named[0]
    else:
        # `classifier` is the name of several heads.
        alone = [name for name, task in held.items() if task in ("pretraining", "replaced_tokens")]
        chosen = alone[-1] if alone else encoder
    if named != [chosen]:
        classes_named = f"the class {' and '.join(named)}" if named else "no class"
        reason = f", as {untied} is not tied to the embedding" if untied else ""
        logger.warning("%s names %s (architectures); its tensors are read as %s%s", path, classes_named, chosen, reason)
    return chosen


def read_encoder(folder: Path, family: Family, content: Mapping[str, Any]) -> EncoderConfig:
    """The configuration of the encoder that a file describes."""
    path, fixed = folder / CONFIG_FILE, dict(family.fixed)
    for field, values in family.values.items():
        key, value = family.keys[field], content.get(family.keys[field])
        if value not in list(values):
            raise ValueError(f"{path}: {key} must be one of {list(values)}, got {value!r}")
        fixed[field] = values[value]
    if family.read_variant is not None:
        try:
            fixed["variant"] = family.read_variant(content)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error
    config = read_encoder_config(path, content, family.keys, ACTIVATIONS, fixed)
    if family.text_activation and classifies_texts(task_of(family, content)):
        config = dataclasses.replace(config, pooler_activation=config.activation)
    if not family.dropout_before_pooler:
        return config
    return dataclasses.replace(config, pooler_dropout=_read_dropout(path, family, content, "classification"))


def read_head(folder: Path, family: Family, content: Mapping[str, Any]) -> Head:
    """The head that a folder's file describes, see `read_config`; the pooling of an embedding stands in other files."""
    path, task = folder / CONFIG_FILE, task_of(family, content)
    if task == "pretraining":
        both = content["architectures"][0].endswith(BOTH_HEADS)
        return Head(task=task, next_sentence=both, transform_activation=family.transform_activation)
    separator = None
    if family.separator and task == "question_answering":
        separator = int(read_number(f"{path}: sep_token_id", content.get("sep_token_id"), whole=True))
    if task == "embedding" or task not in family.classifier_dropout:
        return Head(task=task, separator=separator)
    dropout = _read_dropout(path, family, content, task)
    if task == "question_answering":
        return Head(task=task, dropout=dropout, separator=separator)
    labels = _read_labels(path, content)
    if task == "token_classification":
        if all(re.match("O$|[BILU]-", label) for label in labels) and any(label[0] in "LU" for label in labels):
            labels = tuple(label[0].translate(_IOBES) + label[1:] for label in labels)
            logger.warning("%s: BILOU's labels L- and U- are read as those of IOBES, E- and S-", path)
        return Head(task=task, labels=labels, dropout=dropout)
    pooling: Pooling = "cls" if family.classifier_pooling is None else content[family.classifier_pooling]
    if pooling not in get_args(Pooling):
        raise ValueError(f"{path}: {family.classifier_pooling} must be one of {get_args(Pooling)}, got {pooling!r}")
    if prompt := content[_CROSS_ENCODER_KEYS[0]]["prompt"]:
        raise ValueError(
            f"{folder}: a cross-encoder must have no default prompt, as nothing here puts one in front of queries, got "
            f"{prompt!r}; put it there yourself, and set default_prompt_name of {SETTINGS_FILE} to null"
        )
    activation = _read_activation(folder, content)
    if content.get("problem_type") == _PROBLEMS["multi_label"]:
        task = "multi_label"
    elif len(labels) == 1:
        check_only(path, content, {"problem_type": _PROBLEMS["regression"]})
        return Head(task="regression", dropout=dropout, pooling=pooling, activation=activation)
    else:
        check_only(path, content, {"problem_type": _PROBLEMS["classification"]})
    return Head(task=task, labels=labels, dropout=dropout, pooling=pooling)


def write_config(
    config: EncoderConfig, head: Head, family: Family, pad_id: int, sep_id: int | None = None
) -> dict[str, Any]:
    """The content of `config.json` of a family, which `read_encoder` and `read_head` read."""
    expected = config.activation if classifies_texts(head.task) else "tanh"
    if family.text_activation and head.reads_pooler and config.pooler_activation != expected:
        raise ValueError(
            f"pooler_activation must be {expected!r} under a head for {head.task}, as transformers has no other, got "
            f"{config.pooler_activation!r}"
        )
    expected = family.transform_activation or config.activation
    if head.transform_activation not in (None, expected):
        raise ValueError(
            f"the activation of the head for masked tokens must be {expected!r}, as transformers has no other in "
            f"{family.title}, got {head.transform_activation!r}; an embedding of the encoder can be written"
        )
    architecture = family.architecture(head.task, next_sentence=head.next_sentence)
    if family.classifier_pooling is None:
        check_pooling(head)
    content: dict[str, Any] = {
        "model_type": family.name,
        **write_encoder_config(config, family.keys, WRITTEN_ACTIVATIONS[config.activation]),
        **{
            family.keys[field]: next(theirs for theirs, ours in values.items() if ours == getattr(config, field))
            for field, values in family.values.items()
        },
        **({} if family.write_variant is None else family.write_variant(config)),
        **{key: value for key, value in {**_ONLY, **family.only}.items() if value not in (None, {})},
        **family.marks,
        "architectures": [architecture],
        "pad_token_id": pad_id,
        "tie_word_embeddings": True,
        **({"sep_token_id": head.separator or sep_id} if family.separator else {}),
    }
    if classifies_texts(head.task) or head.task == "token_classification":
        labels = head.labels or ("LABEL_0",)
        content["id2label"] = {str(number): label for number, label in enumerate(labels)}
        content["label2id"] = {label: number for number, label in enumerate(labels)}
    if class_of(head.task) in family.classifier_dropout:
        content[family.classifier_dropout[class_of(head.task)]] = head.dropout
    if classifies_texts(head.task):
        if family.classifier_pooling is not None:
            content[family.classifier_pooling] = head.pooling
        content["problem_type"] = _PROBLEMS[head.task]
    if head.task == "regression":
        # Without a name, a CrossEncoder puts a sigmoid on the number.
        content[_CROSS_ENCODER_KEYS[0]] = {"activation_fn": _ACTIVATION_CLASSES[head.activation]}
    return content


def _read_activation(folder: Path, content: Mapping[str, Any]) -> ScoreActivation:
    """The activation that a cross-encoder names, of one output; transformers, and thus the graph, has none."""
    name, is_single = content[_CROSS_ENCODER_KEYS[0]]["activation_fn"], len(_read_labels(folder, content)) == 1
    kinds = {theirs.rpartition(".")[2]: ours for ours, theirs in _ACTIVATION_CLASSES.items()}
    activation = kinds.get(str(name).rpartition(".")[2])
    if name is not None and (activation is None or (activation != "none" and not is_single)):
        line = "%s: the model returns logits, as in transformers, without the activation %s of its cross-encoder"
        logger.warning(line, folder, name)
    return activation if activation and is_single else "none"


def _read_dropout(path: Path, family: Family, content: Mapping[str, Any], task: str) -> float:
    key = family.classifier_dropout[class_of(task)]
    rate = content.get(key)
    if rate is None:
        rate = content[family.keys["dropout"]]
    elif isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 <= rate < 1:
        raise ValueError(f"{path}: {key} must be a number from 0 on and below 1, or null, got {rate!r}")
    return float(rate)


def _read_labels(path: Path, content: Mapping[str, Any]) -> tuple[str, ...]:
    """The labels by number, which `id2label` names; transformers omits its two default labels."""
    names = content.get("id2label")
    if names is None:
        count = content.get("num_labels", 2)
        if type(count) is not int or count < 1:
            raise ValueError(f"{path}: num_labels must be a whole number above 0, got {count!r}")
        labels = tuple(f"LABEL_{number}" for number in range(count))
    elif not isinstance(names, dict) or not all(number.isdecimal() for number in names):
        raise ValueError(f"{path}: id2label must map the numbers from 0 on to names, got {names!r}")
    else:
        # transformers makes as many outputs as there are names, also where a number is left out.
        labels = tuple(str(names.get(str(number), f"LABEL_{number}")) for number in range(len(names)))
    if len(set(labels)) == len(labels):
        return labels
    distinct = tuple(f"{label} ({number})" if labels.count(label) > 1 else label for number, label in enumerate(labels))
    logger.warning("%s: id2label gives several outputs one name; they are read as %s", path, list(distinct))
    return distinct


def read_tokenizer(
    folder: Path,
    family: Family,
    content: Mapping[str, Any],
    word_pieces: Callable[[Sequence[str], Lowercasing], BaseTokenizer],
    subwords: Callable[[Mapping[str, Any]], BaseTokenizer],
) -> tuple[BaseTokenizer, int | None]:
    """The tokenizer of a folder, as one of two classes, and the longest input in tokens, if its files have one."""
    rows, definition = read_encoder(folder, family, content).vocabulary_size, read_definition(folder)
    if definition is None:
        vocabulary = read_vocabulary(folder)
        tokens = (*vocabulary.tokens, *name_unused_tokens(vocabulary.tokens, rows))
        max_length, tokenizer = vocabulary.max_length, word_pieces(tokens, vocabulary.lowercase)
    else:
        max_length, tokenizer = read_max_length(folder), subwords(definition)
        if tokenizer.vocabulary_size < rows:
            tokenizer = subwords(add_unused_tokens(definition, tokenizer.vocabulary, rows))
    check_size(str(folder), tokenizer.vocabulary, rows)
    has_more_segments = family.fixed.get("num_segments") == 1 and content.get("type_vocab_size") not in (None, 1)
    if has_more_segments and tokenizer.second_segment:
        raise ValueError(f"{folder}: the tokenizer must give segment 0 to both texts of a pair of {family.name}, got 1")
    padding = content.get("pad_token_id")
    # Where positions do not start behind it, its id changes no output.
    if family.fixed.get("position_offset") and padding not in (None, tokenizer.pad_id):
        raise ValueError(
            f"{folder}: the tokenizer must have padding as {padding}, as config.json says, got {tokenizer.pad_id}; "
            "likely it is another family's"
        )
    return tokenizer, max_length


def check_folder(folder: Path) -> None:
    """Reads all files of a checkpoint, but few of its tensors; needs neither Keras nor TensorFlow."""
    from keras_bert.tokenizers.eager import EagerSubwords, EagerWordPiece

    inner = transformer_folder(folder)
    family, content = read_config(inner, folder)
    read_tokenizer(inner, family, content, EagerWordPiece, EagerSubwords)
    if read_head(inner, family, content).task == "embedding":
        read_pooling(folder)
