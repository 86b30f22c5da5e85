"""The vocabulary and the tokenizer's settings of a Hugging Face folder."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from keras_bert.interop.configs import check_only, read_json, write_json

VOCABULARY_FILE = "vocab.txt"
SETTINGS_FILE = "tokenizer_config.json"
TOKENIZER_FILE = "tokenizer.json"

SPECIAL_TOKENS = {
    "pad_token": "[PAD]",
    "unk_token": "[UNK]",
    "cls_token": "[CLS]",
    "sep_token": "[SEP]",
    "mask_token": "[MASK]",
}
# What `Tokenizer` always does; also what these keys mean when they are absent.
_SETTINGS = {"tokenize_chinese_chars": True, "do_basic_tokenize": True, "truncation_side": "right"}
_NORMALIZER = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True}
_MODEL = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100}
_CLASSES = ("BertTokenizer", "BertTokenizerFast", "PreTrainedTokenizerFast", "TokenizersBackend")


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
    """Reads `vocab.txt`, or else the vocabulary in `tokenizer.json`, and `tokenizer_config.json`.

    Raises:
        FileNotFoundError: there is no vocabulary.
        ValueError: the files ask for what `Tokenizer` does not do, contradict each other, or do not say whether
            text is lowercased.
    """
    settings = read_json(folder / SETTINGS_FILE) if (folder / SETTINGS_FILE).is_file() else {}
    tokenizer = read_json(folder / TOKENIZER_FILE) if (folder / TOKENIZER_FILE).is_file() else {}
    if (folder / VOCABULARY_FILE).is_file():
        pieces = read_pieces(folder / VOCABULARY_FILE)
    elif tokenizer:
        pieces = _in_order(folder / TOKENIZER_FILE, tokenizer)
    else:
        raise FileNotFoundError(f"{folder} has no vocabulary: neither {VOCABULARY_FILE} nor {TOKENIZER_FILE}")
    _check_settings(folder / SETTINGS_FILE, settings)
    if tokenizer:
        _check_tokenizer(folder / TOKENIZER_FILE, tokenizer)
    return Vocabulary(pieces, _lowercase(folder, settings, tokenizer), _max_length(settings))


def write_vocabulary(folder: Path, vocabulary: Vocabulary) -> None:
    """Writes `vocab.txt` and `tokenizer_config.json`."""
    write_pieces(folder / VOCABULARY_FILE, vocabulary.pieces)
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
    """The pieces of a `vocab.txt`, one a line."""
    text = path.read_text(encoding="utf-8")
    return tuple(text.removesuffix("\n").split("\n")) if text else ()


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


def _in_order(path: Path, tokenizer: Mapping[str, Any]) -> tuple[str, ...]:
    ids = tokenizer.get("model", {}).get("vocab")
    if not isinstance(ids, dict) or sorted(ids.values()) != list(range(len(ids))):
        raise ValueError(f"{path}: model.vocab must map pieces to the ids from 0 on, each once")
    return tuple(sorted(ids, key=ids.__getitem__))


def _check_settings(path: Path, settings: Mapping[str, Any]) -> None:
    check_only(path, settings, _SETTINGS)
    if settings.get("never_split"):
        raise ValueError(f"{path}: never_split must be empty, got {settings['never_split']!r}, which is not supported")
    if settings.get("tokenizer_class") not in (None, *_CLASSES):
        raise ValueError(f"{path}: tokenizer_class must be one of {_CLASSES}, got {settings['tokenizer_class']!r}")
    for key, token in SPECIAL_TOKENS.items():
        value = settings.get(key)
        held = value.get("content") if isinstance(value, dict) else value
        if held not in (None, token):
            raise ValueError(f"{path}: {key} must be {token!r}, got {held!r}, which is not supported")
    added = settings.get("added_tokens_decoder") or {}
    _check_added(path, [token.get("content") for token in added.values()])


def _check_tokenizer(path: Path, tokenizer: Mapping[str, Any]) -> None:
    for part, only in (("model", _MODEL), ("normalizer", _NORMALIZER)):
        if not isinstance(tokenizer.get(part), dict):
            raise ValueError(f"{path} must describe its {part}; it is no tokenizer of Hugging Face's BERT")
        check_only(path, tokenizer[part], only)
    _check_added(path, [token.get("content") for token in tokenizer.get("added_tokens") or []])


def _check_added(path: Path, tokens: list[Any]) -> None:
    further = [token for token in tokens if token not in SPECIAL_TOKENS.values()]
    if further:
        raise ValueError(
            f"{path}: added tokens must be {list(SPECIAL_TOKENS.values())}, got {further[:5]} "
            "besides, which are not supported: they are matched before a text is split"
        )


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
    if len(set(said.values())) > 1:
        raise ValueError(f"{folder}: the files must agree on whether text is lowercased, got {said}")
    lowercase = bool(next(iter(said.values())))
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


def _max_length(settings: Mapping[str, Any]) -> int | None:
    """The limit, where there is one: transformers writes 1e30 for none."""
    value = settings.get("model_max_length")
    return int(value) if isinstance(value, int | float) and value < 1e9 else None
