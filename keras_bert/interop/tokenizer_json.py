"""Reads and writes `tokenizer.json` of Hugging Face tokenizers for WordPiece; refuses unsupported values."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from keras_bert.interop.configs import check_only
from keras_bert.options.data import TOKEN_KEYS, Lowercasing
from keras_bert.tokenizers.wordpiece_vocabulary import SEP, find_special_tokens

# The flags of an added token that leaves texts as they are, and is not shown in answers.
SPECIAL_FLAGS = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
# The one supported value of keys, which is also their default.
_NORMALIZER = {"type": "BertNormalizer", "clean_text": True}
_MODEL = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100}
_PRE_TOKENIZER = "BertPreTokenizer"


def build_post_processor(
    cls: str, sep: str, ids: Mapping[str, int], *, between: int = 1, second_segment: int = 1
) -> dict[str, Any]:
    """The step that puts special tokens around a text and the texts of a pair; see `BaseTokenizer`."""

    def template(*parts: tuple[str, str, int]) -> list[dict[str, dict[str, Any]]]:
        return [{kind: {"id": name, "type_id": segment}} for kind, name, segment in parts]

    first = (("SpecialToken", cls, 0), ("Sequence", "A", 0), ("SpecialToken", sep, 0))
    inner = (("SpecialToken", sep, 0),) * (between - 1)
    second = (("Sequence", "B", second_segment), ("SpecialToken", sep, second_segment))
    return {
        "type": "TemplateProcessing",
        "single": template(*first),
        "pair": template(*first, *inner, *second),
        "special_tokens": {token: {"id": token, "ids": [ids[token]], "tokens": [token]} for token in (cls, sep)},
    }


def without_segments(processor: Any) -> Any:
    """A post-processor whose second texts are of segment 0."""
    if isinstance(processor, list):
        return [without_segments(part) for part in processor]
    if not isinstance(processor, dict):
        return processor
    if processor.get("type") == "BertProcessing" and {"cls", "sep"} <= processor.keys():
        (cls, cls_id), (sep, sep_id) = processor["cls"], processor["sep"]
        return build_post_processor(cls, sep, {cls: cls_id, sep: sep_id}, second_segment=0)
    return {key: 0 if key == "type_id" else without_segments(value) for key, value in processor.items()}


def _pair_layout(sep: str) -> dict[str, int]:
    """The template of BERT's rows of two texts, or of MPNet's, which have another token at their end."""
    return {"between": 1, "second_segment": 1} if sep == SEP else {"between": 2, "second_segment": 0}


def name_special_tokens(tokens: Sequence[str]) -> dict[str, str]:
    """The special tokens of a vocabulary, by their keys in `tokenizer_config.json`."""
    return dict(zip(TOKEN_KEYS, find_special_tokens(tokens), strict=True))


def read_tokenizer(path: Path, tokenizer: Mapping[str, Any]) -> tuple[str, ...]:
    """The vocabulary, by id, of the WordPiece of a `tokenizer.json` with the given content."""
    model = tokenizer.get("model")
    if not isinstance(model, dict):
        raise ValueError(f"{path} must describe its model; it is not a tokenizer of Hugging Face's BERT, got {model!r}")
    check_only(path, model, {key: _MODEL[key] for key in ("type", "unk_token", "continuing_subword_prefix")})
    check_truncation(path, tokenizer)
    return _sort_by_id(path, model.get("vocab"))


def is_berts(tokenizer: Mapping[str, Any]) -> bool:
    """Whether a `tokenizer.json` of WordPiece splits texts, and joins pairs, as BERT's classes and `Tokenizer` do."""
    steps = (tokenizer.get("model"), normalizer_of(tokenizer), tokenizer.get("pre_tokenizer"))
    expected: tuple[dict[str, Any], ...] = (_MODEL, _NORMALIZER, {"type": _PRE_TOKENIZER})
    for step, values in zip(steps, expected, strict=True):
        if not isinstance(step, dict) or any(step.get(key) not in (None, value) for key, value in values.items()):
            return False
    try:
        tokens = _sort_by_id(Path(), tokenizer["model"].get("vocab"))
        names, ids = name_special_tokens(tokens), {token: number for number, token in enumerate(tokens)}
        cls, sep = names["cls_token"], names["sep_token"]
        kind, processor = "BertProcessing" if sep == SEP else "RobertaProcessing", tokenizer["post_processor"].items()
        shorter = {"type": kind, "cls": [cls, ids[cls]], "sep": [sep, ids[sep]]}.items()
    except (AttributeError, LookupError, TypeError, ValueError):
        return False
    template = build_post_processor(cls, sep, ids, **_pair_layout(sep))
    return shorter <= processor or template.items() <= processor


def normalizer_of(tokenizer: Mapping[str, Any]) -> Any:
    """The normalizer of a WordPiece, one of `BertNormalizer` also where `Lowercase` stands in front of it."""
    normalizer = tokenizer.get("normalizer")
    parts = normalizer.get("normalizers") if isinstance(normalizer, dict) else None
    types = [isinstance(part, dict) and part.get("type") for part in parts] if isinstance(parts, list) else []
    if not isinstance(parts, list) or types != ["Lowercase", _NORMALIZER["type"]]:
        return normalizer
    of_bert = parts[1]
    accents = of_bert.get("lowercase") if of_bert.get("strip_accents") is None else of_bert["strip_accents"]
    return {**of_bert, "lowercase": True, "strip_accents": accents}


def write_tokenizer(tokens: Sequence[str], *, lowercase: Lowercasing, splits_chinese: bool = True) -> dict[str, Any]:
    """The content of a `tokenizer.json` with the ids of `Tokenizer`, as `read_tokenizer` reads it.

    `splits_chinese` is whether each Chinese character is a word, as in `Tokenizer`.
    """
    ids = {token: number for number, token in enumerate(tokens)}
    names = name_special_tokens(tokens)
    special = sorted(names.values(), key=ids.__getitem__)
    cls, sep = names["cls_token"], names["sep_token"]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": ids[token], "content": token, **SPECIAL_FLAGS} for token in special],
        "normalizer": {
            **_NORMALIZER,
            "handle_chinese_chars": splits_chinese,
            **write_lowercase("lowercase", lowercase),
        },
        "pre_tokenizer": {"type": _PRE_TOKENIZER},
        "post_processor": build_post_processor(cls, sep, ids, **_pair_layout(sep)),
        "decoder": {"type": "WordPiece", "prefix": _MODEL["continuing_subword_prefix"], "cleanup": True},
        "model": {**_MODEL, "vocab": ids},
    }


def write_lowercase(key: str, lowercase: Lowercasing) -> dict[str, bool | None]:
    """The keys of lowercasing, whose name is `key`, and of accents in a file of Hugging Face."""
    return {key: bool(lowercase), "strip_accents": False if lowercase == "keep_accents" else None}


def check_truncation(path: Path, tokenizer: Mapping[str, Any]) -> None:
    """Refuses a `tokenizer.json` that truncates texts at their start."""
    truncation = tokenizer.get("truncation")
    if truncation is not None and (not isinstance(truncation, dict) or truncation.get("direction", "Right") != "Right"):
        raise ValueError(f"{path}: truncation must be null or have the direction 'Right', got {truncation!r}")


def content_of(path: Path, field: str, token: Any) -> str:
    """The text of a special token."""
    content = token.get("content") if isinstance(token, dict) else token
    if not isinstance(content, str):
        raise ValueError(f"{path}: {field} must hold strings or objects with a content, got {token!r}")
    return content


def _sort_by_id(path: Path, ids: Any) -> tuple[str, ...]:
    if (
        not isinstance(ids, dict)
        or not all(type(number) is int for number in ids.values())
        or sorted(ids.values()) != list(range(len(ids)))
    ):
        raise ValueError(f"{path}: model.vocab must map tokens to the ids from 0 on, each once")
    return tuple(sorted(ids, key=ids.__getitem__))
