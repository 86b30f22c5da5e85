"""`tokenizer.json` of Hugging Face tokenizers: its vocabulary, and what of it `Tokenizer` does not do."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from keras_bert.interop.configs import check_only

SPECIAL_TOKENS = {
    "pad_token": "[PAD]",
    "unk_token": "[UNK]",
    "cls_token": "[CLS]",
    "sep_token": "[SEP]",
    "mask_token": "[MASK]",
}
# Of an added token that no text is changed for, and no answer shows.
SPECIAL_FLAGS = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
# What `Tokenizer` always does; also what these keys mean when they are absent.
_NORMALIZER = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True}
_MODEL = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100}
_PRE_TOKENIZER = "BertPreTokenizer"


def _template(*parts: tuple[str, str, int]) -> list[dict[str, dict[str, Any]]]:
    return [{kind: {"id": name, "type_id": segment}} for kind, name, segment in parts]


_CLS, _SEP = ("SpecialToken", "[CLS]", 0), ("SpecialToken", "[SEP]", 0)
_TEMPLATES = {
    "single": _template(_CLS, ("Sequence", "A", 0), _SEP),
    "pair": _template(_CLS, ("Sequence", "A", 0), _SEP, ("Sequence", "B", 1), ("SpecialToken", "[SEP]", 1)),
}


def read_tokenizer(path: Path, tokenizer: Mapping[str, Any]) -> tuple[str, ...]:
    """The pieces of a `tokenizer.json`, by their ids.

    Args:
        path: of the file, for messages.
        tokenizer: its content.

    Raises:
        ValueError: it gives other ids than `Tokenizer` would.
    """
    for part, only in (("model", _MODEL), ("normalizer", _NORMALIZER)):
        if not isinstance(tokenizer.get(part), dict):
            raise ValueError(
                f"{path} must describe its {part}; it is no tokenizer of Hugging Face's BERT, got "
                f"{tokenizer.get(part)!r}"
            )
        check_only(path, tokenizer[part], only)
    splitter = tokenizer.get("pre_tokenizer")
    if not isinstance(splitter, dict) or splitter.get("type") != _PRE_TOKENIZER:
        raise ValueError(f"{path}: pre_tokenizer must have the type {_PRE_TOKENIZER!r}, got {splitter!r}")
    truncation = tokenizer.get("truncation")
    if truncation is not None and (not isinstance(truncation, dict) or truncation.get("direction", "Right") != "Right"):
        raise ValueError(f"{path}: truncation must be null or have the direction 'Right', got {truncation!r}")
    added = tokenizer.get("added_tokens") or []
    if not isinstance(added, list):
        raise ValueError(f"{path}: added_tokens must be a list, got {added!r}")
    check_added(path, "added_tokens", added)
    pieces = _in_order(path, tokenizer["model"].get("vocab"))
    _check_post_processor(path, tokenizer.get("post_processor"), pieces)
    return pieces


def write_tokenizer(pieces: Sequence[str], *, lowercase: bool) -> dict[str, Any]:
    """The content of a `tokenizer.json` that gives the ids of `Tokenizer`; `read_tokenizer` reads it.

    Args:
        pieces: by their ids, with `SPECIAL_TOKENS`.
        lowercase: whether text is lowercased and stripped of its accents.
    """
    ids = {piece: number for number, piece in enumerate(pieces)}
    special = sorted(SPECIAL_TOKENS.values(), key=ids.__getitem__)
    around = {token: {"id": token, "ids": [ids[token]], "tokens": [token]} for token in ("[CLS]", "[SEP]")}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": ids[token], "content": token, **SPECIAL_FLAGS} for token in special],
        "normalizer": {**_NORMALIZER, "strip_accents": None, "lowercase": lowercase},
        "pre_tokenizer": {"type": _PRE_TOKENIZER},
        "post_processor": {"type": "TemplateProcessing", **_TEMPLATES, "special_tokens": around},
        "decoder": {"type": "WordPiece", "prefix": _MODEL["continuing_subword_prefix"], "cleanup": True},
        "model": {**_MODEL, "vocab": ids},
    }


def check_added(path: Path, field: str, tokens: list[Any]) -> None:
    """Refuses special tokens that `Tokenizer` does not know.

    Args:
        path: of the file, for messages.
        field: where they stand in it.
        tokens: as transformers writes them, strings or objects with a `content`.

    Raises:
        ValueError: one is no token, or not one of `SPECIAL_TOKENS`.
    """
    held = [content_of(path, field, token) for token in tokens]
    further = [token for token in held if token not in SPECIAL_TOKENS.values()]
    if further:
        raise ValueError(
            f"{path}: {field}: added tokens must be {list(SPECIAL_TOKENS.values())}, got {further[:5]} "
            "besides, which are not supported: they are matched before a text is split"
        )


def content_of(path: Path, field: str, token: Any) -> str:
    """The text of a special token.

    Raises:
        ValueError: it is neither a string nor an object with a `content`.
    """
    content = token.get("content") if isinstance(token, dict) else token
    if not isinstance(content, str):
        raise ValueError(f"{path}: {field} must hold strings or objects with a content, got {token!r}")
    return content


def _in_order(path: Path, ids: Any) -> tuple[str, ...]:
    if (
        not isinstance(ids, dict)
        or not all(type(number) is int for number in ids.values())
        or sorted(ids.values()) != list(range(len(ids)))
    ):
        raise ValueError(f"{path}: model.vocab must map pieces to the ids from 0 on, each once")
    return tuple(sorted(ids, key=ids.__getitem__))


def _check_post_processor(path: Path, processor: Any, pieces: tuple[str, ...]) -> None:
    """Only what puts [CLS] before a text and [SEP] after it, by the vocabulary's ids."""
    kind = processor.get("type") if isinstance(processor, dict) else None
    ids = {token: pieces.index(token) if token in pieces else None for token in ("[CLS]", "[SEP]")}
    if kind == "BertProcessing":
        for key, token in (("cls", "[CLS]"), ("sep", "[SEP]")):
            if processor.get(key) != [token, ids[token]]:
                raise ValueError(
                    f"{path}: post_processor.{key} must be {[token, ids[token]]!r}, got {processor.get(key)!r}"
                )
        return
    if kind != "TemplateProcessing":
        raise ValueError(
            f"{path}: post_processor must have the type 'TemplateProcessing' or 'BertProcessing', which put [CLS] "
            f"before a text and [SEP] after it, got {processor!r}"
        )
    for key, template in _TEMPLATES.items():
        if processor.get(key) != template:
            raise ValueError(f"{path}: post_processor.{key} must be {template!r}, got {processor.get(key)!r}")
    special = processor.get("special_tokens")
    for token, number in ids.items():
        said = special.get(token) if isinstance(special, dict) else None
        if not isinstance(said, dict) or said.get("ids") != [number]:
            raise ValueError(
                f"{path}: post_processor.special_tokens must give {token} the ids {[number]}, got {said!r}"
            )
