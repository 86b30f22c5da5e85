"""The vocabulary and the tokenizer's settings of a Hugging Face folder."""

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from keras_bert.folders import TOKENIZER_FILE, VOCABULARY_FILE
from keras_bert.interop.configs import check_only, read_json, read_length, write_json
from keras_bert.interop.tokenizer_json import SPECIAL_FLAGS, SPECIAL_TOKENS, check_added, content_of, read_tokenizer
from keras_bert.options.vocabulary import MODELS

SETTINGS_FILE = "tokenizer_config.json"
SPECIAL_TOKENS_FILE = "special_tokens_map.json"

# What `Tokenizer` always does; also what these keys mean when they are absent.
_SETTINGS = {"tokenize_chinese_chars": True, "do_basic_tokenize": True, "truncation_side": "right"}
# Files of slow tokenizers that hold the same pieces as a `tokenizer.json`.
_SLOW_FILES = ("vocab.json", "merges.txt", "sentencepiece.bpe.model", "spiece.model", "spm.model")
_CLASSES = ("BertTokenizer", "BertTokenizerFast", "PreTrainedTokenizerFast", "TokenizersBackend")
# Names of special tokens beyond BERT's, each a token, a list of them or an object of them by name.
_FURTHER_TOKENS = ("bos_token", "eos_token", "additional_special_tokens", "extra_special_tokens")


def read_definition(folder: Path) -> dict[str, Any] | None:
    """The content of a `tokenizer.json` whose pieces are no word pieces; None where the folder has BERT's.

    Raises:
        FileNotFoundError: there are files of other tokenizers alone.
        ValueError: the file holds no JSON object.
    """
    content = _read_if_there(folder / TOKENIZER_FILE)
    model = (content or {}).get("model")
    if isinstance(model, dict) and str(model.get("type")) in MODELS:
        return content
    slow = [name for name in _SLOW_FILES if (folder / name).is_file()]
    if content is None and slow and not (folder / VOCABULARY_FILE).is_file():
        raise FileNotFoundError(
            f"{folder} has {' and '.join(slow)}, but no {TOKENIZER_FILE}, which transformers writes: "
            "AutoTokenizer.from_pretrained(folder).save_pretrained(folder)"
        )
    return None


def fill_up(content: Mapping[str, Any], pieces: Sequence[str], rows: int) -> dict[str, Any]:
    """The content of a `tokenizer.json` with further pieces, as many as the token embedding has rows without one.

    They are special tokens, which no text holds.

    Args:
        content: of the file.
        pieces: that it describes.
        rows: of the token embedding.
    """
    held = set(pieces)
    names = (name for name in (f"[unused{number}]" for number in itertools.count()) if name not in held)
    spare = [{"id": number, "content": next(names), **SPECIAL_FLAGS} for number in range(len(pieces), rows)]
    return {**content, "added_tokens": [*(content.get("added_tokens") or []), *spare]}


def read_most(folder: Path) -> int | None:
    """The most tokens of an input, or None where `tokenizer_config.json` does not say."""
    return read_length(folder / SETTINGS_FILE, _read_if_there(folder / SETTINGS_FILE) or {}, "model_max_length")


def write_definition(folder: Path, content: Mapping[str, Any], special: Sequence[str], max_length: int) -> None:
    """Writes `tokenizer.json` and `tokenizer_config.json` of other pieces than word pieces."""
    names = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")
    settings = {
        **dict(zip(names, special, strict=True)),
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": max_length,
    }
    write_json(folder / SETTINGS_FILE, settings)
    write_json(folder / TOKENIZER_FILE, content)


class Vocabulary(NamedTuple):
    """What `Tokenizer` is made of, and the longest input.

    Attributes:
        pieces: by their ids.
        lowercase: whether text is lowercased and stripped of its accents.
        max_length: the most tokens of an input, or None where the files do not say.
    """

    pieces: tuple[str, ...]
    lowercase: bool
    max_length: int | None


def read_vocabulary(folder: Path) -> Vocabulary:
    """Reads `vocab.txt` or `tokenizer.json`, `tokenizer_config.json` and `special_tokens_map.json`.

    Raises:
        FileNotFoundError: there is no vocabulary.
        ValueError: the files ask for what `Tokenizer` does not do, contradict each other, or do not say whether
            text is lowercased.
    """
    settings = _read_if_there(folder / SETTINGS_FILE) or {}
    tokenizer = _read_if_there(folder / TOKENIZER_FILE)
    lines = read_pieces(folder / VOCABULARY_FILE) if (folder / VOCABULARY_FILE).is_file() else None
    held = None if tokenizer is None else read_tokenizer(folder / TOKENIZER_FILE, tokenizer)
    if lines is not None and held is not None:
        _check_same(folder, lines, held)
    pieces = held if lines is None else lines
    if pieces is None:
        raise FileNotFoundError(f"{folder} has no vocabulary: neither {VOCABULARY_FILE} nor {TOKENIZER_FILE}")
    _check_settings(folder / SETTINGS_FILE, settings)
    _check_special(folder / SPECIAL_TOKENS_FILE, _read_if_there(folder / SPECIAL_TOKENS_FILE) or {})
    return Vocabulary(
        pieces,
        _lowercase(folder, settings, tokenizer or {}),
        read_length(folder / SETTINGS_FILE, settings, "model_max_length"),
    )


def write_vocabulary(folder: Path, vocabulary: Vocabulary) -> None:
    """Writes `vocab.txt` and `tokenizer_config.json`."""
    write_pieces(folder / VOCABULARY_FILE, vocabulary.pieces)
    write_settings(folder, vocabulary)


def write_settings(folder: Path, vocabulary: Vocabulary) -> None:
    """Writes `tokenizer_config.json`."""
    settings = {
        **SPECIAL_TOKENS,
        "tokenizer_class": "BertTokenizer",
        "do_lower_case": vocabulary.lowercase,
        "strip_accents": None,
        "tokenize_chinese_chars": True,
        "model_max_length": vocabulary.max_length,
    }
    write_json(folder / SETTINGS_FILE, settings)


def read_pieces(path: Path) -> tuple[str, ...]:
    """The pieces of a `vocab.txt`, one a line.

    Raises:
        ValueError: it is no UTF-8, begins with a byte order mark, or has a blank line.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} must hold UTF-8: {error}; likely it was saved in another encoding") from error
    if text.startswith("\ufeff"):
        raise ValueError(f"{path} must begin with a piece, got a byte order mark; save it as UTF-8 without one")
    pieces = tuple(text.removesuffix("\n").split("\n")) if text else ()
    if "" in pieces:
        raise ValueError(f"{path}: line {pieces.index('') + 1} must hold a piece, got a blank line")
    return pieces


def write_pieces(path: Path, pieces: tuple[str, ...]) -> None:
    """Writes a `vocab.txt`."""
    path.write_bytes("".join(f"{piece}\n" for piece in pieces).encode())


def check_size(source: str, pieces: tuple[str, ...], rows: int) -> None:
    """Raises ValueError unless there are as many pieces as the token embedding has rows."""
    if len(pieces) != rows:
        raise ValueError(
            f"{source}: the vocabulary must hold as many pieces as the configuration says, vocab_size={rows}, "
            f"got {len(pieces)}; likely it is another model's"
        )


def _read_if_there(path: Path) -> dict[str, Any] | None:
    return read_json(path) if path.is_file() else None


def _check_same(folder: Path, lines: tuple[str, ...], held: tuple[str, ...]) -> None:
    """Either file may be what another library reads."""
    for number, (line, piece) in enumerate(itertools.zip_longest(lines, held)):
        if line != piece:
            raise ValueError(
                f"{folder / VOCABULARY_FILE} and {folder / TOKENIZER_FILE} must hold the same pieces, got "
                f"{_shown(line)} and {_shown(piece)} for the id {number}"
            )


def _shown(piece: str | None) -> str:
    return "none" if piece is None else repr(piece)


def _check_settings(path: Path, settings: Mapping[str, Any]) -> None:
    check_only(path, settings, _SETTINGS)
    if settings.get("never_split"):
        raise ValueError(f"{path}: never_split must be empty, got {settings['never_split']!r}, which is not supported")
    if settings.get("tokenizer_class") not in (None, *_CLASSES):
        raise ValueError(f"{path}: tokenizer_class must be one of {_CLASSES}, got {settings['tokenizer_class']!r}")
    named = (*SPECIAL_TOKENS, *_FURTHER_TOKENS)
    _check_special(path, {key: settings[key] for key in named if key in settings})
    added = settings.get("added_tokens_decoder") or {}
    if not isinstance(added, dict):
        raise ValueError(f"{path}: added_tokens_decoder must map ids to tokens, got {added!r}")
    check_added(path, "added_tokens_decoder", list(added.values()))


def _check_special(path: Path, named: Mapping[str, Any]) -> None:
    """Refuses special tokens by name that are not BERT's."""
    for key, value in named.items():
        if value is None:
            continue
        if key in SPECIAL_TOKENS:
            held = content_of(path, key, value)
            if held != SPECIAL_TOKENS[key]:
                raise ValueError(f"{path}: {key} must be {SPECIAL_TOKENS[key]!r}, got {held!r}, which is not supported")
        elif isinstance(value, dict) and "content" not in value:
            check_added(path, key, list(value.values()))
        else:
            check_added(path, key, value if isinstance(value, list) else [value])


def _lowercase(folder: Path, settings: Mapping[str, Any], tokenizer: Mapping[str, Any]) -> bool:
    said = {
        file: value
        for file, value in (
            (SETTINGS_FILE, settings.get("do_lower_case")),
            (TOKENIZER_FILE, tokenizer.get("normalizer", {}).get("lowercase")),
        )
        if value is not None
    }
    if not said:
        raise ValueError(
            f"{folder} must say whether text is lowercased: `do_lower_case` in {SETTINGS_FILE} or "
            f"the normalizer in {TOKENIZER_FILE}"
        )
    for file, value in said.items():
        if not isinstance(value, bool):
            raise ValueError(f"{folder / file}: lowercasing must be true or false, got {value!r}")
    if len(set(said.values())) > 1:
        raise ValueError(f"{folder}: the files must agree on whether text is lowercased, got {said}")
    lowercase: bool = next(iter(said.values()))
    for file, value in (
        (SETTINGS_FILE, settings.get("strip_accents")),
        (TOKENIZER_FILE, tokenizer.get("normalizer", {}).get("strip_accents")),
    ):
        if value not in (None, lowercase):
            raise ValueError(
                f"{folder / file}: strip_accents must be null or what lowercasing is, {lowercase}, got {value!r}, "
                "which is not supported"
            )
    return lowercase
