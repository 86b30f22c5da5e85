"""Reads and writes the vocabulary and the tokenizer settings of a Hugging Face folder."""

import itertools
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from keras_bert.core.folders import TOKENIZER_FILE, VOCABULARY_FILE, hint_of_pointer
from keras_bert.interop.configs import check_only, read_json, read_length, write_json
from keras_bert.interop.sentence_transformers import LENGTH_FILE, read_length_file
from keras_bert.interop.slow_tokenizers import SLOW_FILES, read_slow_tokenizer, special_of_class
from keras_bert.interop.tokenizer_json import (
    SPECIAL_FLAGS,
    check_truncation,
    content_of,
    is_berts,
    name_special_tokens,
    normalizer_of,
    read_tokenizer,
    without_segments,
    write_lowercase,
    write_tokenizer,
)
from keras_bert.options.data import MODELS, NAMED_TOKENS, TOKEN_KEYS, Lowercasing
from keras_bert.tokenizers.wordpiece_vocabulary import SEP, find_special_tokens

logger = logging.getLogger(__name__)

SETTINGS_FILE = "tokenizer_config.json"
SPECIAL_TOKENS_FILE = "special_tokens_map.json"
_ADDED_FILE = "added_tokens.json"

# The one supported value of keys, which is also their default.
_COMMON_SETTINGS = {"truncation_side": "right"}
# Japanese BERTs split texts into words by a dictionary (MeCab, Sudachi) first, and some the words into characters.
_WORD_SETTINGS = {"word_tokenizer_type": "basic", "subword_tokenizer_type": "wordpiece"}
# The classes, without `Fast`, that are defined only by `tokenizer.json`, and the classes of WordPiece.
_GENERIC_CLASSES = ("PreTrainedTokenizer", "TokenizersBackend")
_MODELS = ("Bert", "ConvBert", "DistilBert", "Electra", "LayoutLM", "MobileBert", "MPNet", "RetriBert", "SqueezeBert")
_CLASSES = (*(f"{model}Tokenizer" for model in _MODELS), *_GENERIC_CLASSES)


def read_definition(folder: Path) -> dict[str, Any] | None:
    """The content of the `tokenizer.json` of a tokenizer that is not BERT's WordPiece; None for that.

    The special tokens that the files beside it name stand in it as `NAMED_TOKENS`.
    """
    settings = _read_settings(folder)
    named = {**(_read_if_there(folder / SPECIAL_TOKENS_FILE) or {}), **settings}
    tokens = {key: content_of(folder / SETTINGS_FILE, key, named[key]) for key in TOKEN_KEYS if named.get(key)}
    content = _read_if_there(folder / TOKENIZER_FILE)
    if content is None and not (folder / VOCABULARY_FILE).is_file() and any((folder / n).is_file() for n in SLOW_FILES):
        content = read_slow_tokenizer(folder, settings, tokens)
    model = (content or {}).get("model")
    kind = MODELS.get(str(model.get("type")), "wordpiece") if isinstance(model, dict) else "wordpiece"
    # transformers' own classes of WordPiece only take the vocabulary from it.
    is_own = _class_of(settings) in _GENERIC_CLASSES and not is_berts(content or {})
    if content is None or (kind == "wordpiece" and not is_own):
        definition = _describe_word_pieces(folder, settings, content)
        if definition is None and _omits_segments(settings):
            vocabulary = read_vocabulary(folder)
            definition = write_tokenizer(vocabulary.tokens, lowercase=vocabulary.lowercase)
        return _with_segments(definition, settings) if definition else None
    check_only(folder / SETTINGS_FILE, settings, _COMMON_SETTINGS)
    check_truncation(folder / TOKENIZER_FILE, content)
    content = _with_lowercase(content) if _lowercases_first(folder) else content
    prefix = settings.get("add_prefix_space")
    if isinstance(prefix, bool) and _class_of(settings) not in _GENERIC_CLASSES:
        content = {**content, "pre_tokenizer": _with_prefix(content.get("pre_tokenizer"), prefix)}
    tokens = {**special_of_class(settings, content), **tokens}
    return {**_with_segments(content, settings), **({NAMED_TOKENS: tokens} if tokens else {})}


def _describe_word_pieces(
    folder: Path, settings: Mapping[str, Any], content: Mapping[str, Any] | None
) -> dict[str, Any] | None:
    """A WordPiece with tokens that are matched before a text is split, or without a split at Chinese characters.

    None for BERT's, which has neither. transformers' own classes only read `tokenizer_config.json`.
    """
    if content is not None and not is_berts(content):
        line = "%s: of the class %s only the vocabulary is read, as by transformers 5; its rules are BERT's"
        logger.warning(line, folder / TOKENIZER_FILE, _class_of(settings))
    file, splits = SETTINGS_FILE, settings.get("tokenize_chinese_chars", True)
    normalizer = normalizer_of(content or {})
    if isinstance(normalizer, dict) and _class_of(settings) in _GENERIC_CLASSES:
        file, splits = TOKENIZER_FILE, normalizer.get("handle_chinese_chars", True)
    if not isinstance(splits, bool):
        raise ValueError(f"{folder / file}: the key of Chinese characters must be true or false, got {splits!r}")
    added = _read_added(folder, settings, content)
    if splits and all(token["special"] for token in added):
        return None
    vocabulary = read_vocabulary(folder)
    special = find_special_tokens(vocabulary.tokens)
    further = [token for token in added if token["content"] not in special]
    if splits and all(token["special"] for token in further):
        return None
    definition = write_tokenizer(vocabulary.tokens, lowercase=vocabulary.lowercase, splits_chinese=splits)
    definition["added_tokens"] += further
    return definition


def _read_added(folder: Path, settings: Mapping[str, Any], content: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """The added tokens of a WordPiece, by id, with all their flags; special ones are text here, as `[MASK]` is."""
    listed = (content or {}).get("added_tokens") or []
    by_id = settings.get("added_tokens_decoder") or {}
    ids = {} if content is not None else _read_if_there(folder / _ADDED_FILE) or {}
    try:
        tokens = [
            *listed,
            *({**token, "id": int(number)} for number, token in by_id.items()),
            *({"content": text, "id": int(number)} for text, number in ids.items()),
        ]
        described = {
            token["content"]: {
                "id": int(token["id"]),
                "content": str(token["content"]),
                **{flag: bool(token.get(flag, flag == "normalized")) for flag in SPECIAL_FLAGS},
            }
            for token in reversed(tokens)
        }
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        fields = f"added_tokens of {TOKENIZER_FILE}, added_tokens_decoder of {SETTINGS_FILE} and {_ADDED_FILE}"
        raise ValueError(f"{folder}: {fields} must hold tokens with a content and an id: {error!r}") from error
    return sorted(described.values(), key=lambda token: token["id"])


def _read_settings(folder: Path) -> dict[str, Any]:
    """The content of `tokenizer_config.json`, with what sentence-transformers changes of it.

    `config.json` names the class of old tokenizers, and the number of segments.
    """
    settings, config = (_read_if_there(folder / name) or {} for name in (SETTINGS_FILE, "config.json"))
    named = {key: config[key] for key in ("tokenizer_class", "model_type", "type_vocab_size") if config.get(key)}
    return {**named, **settings, **read_length_file(folder)["tokenizer_args"]}


def _omits_segments(settings: Mapping[str, Any]) -> bool:
    """Whether a model with several segments gets none from its tokenizer, so that all tokens are of the first one."""
    names = settings.get("model_input_names")
    return isinstance(names, list) and "token_type_ids" not in names and settings.get("type_vocab_size", 0) > 1


def _with_segments(definition: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """A `tokenizer.json` whose pairs have the segments that the tokenizer gives to the model."""
    omits, processor = _omits_segments(settings), definition.get("post_processor")
    return {**definition, "post_processor": without_segments(processor)} if omits else dict(definition)


def _lowercases_first(folder: Path) -> bool:
    """Whether sentence-transformers lowercases texts in front of the tokenizer."""
    value = read_length_file(folder).get("do_lower_case") or False
    if not isinstance(value, bool):
        raise ValueError(f"{folder / LENGTH_FILE}: do_lower_case must be true or false, got {value!r}")
    return value


def _with_lowercase(content: Mapping[str, Any]) -> dict[str, Any]:
    """A `tokenizer.json` that lowercases first, as sentence-transformers changes it."""
    normalizer = content.get("normalizer")
    inner = normalizer.get("normalizers") if isinstance(normalizer, dict) else None
    parts = inner if isinstance(inner, list) else [normalizer] if normalizer else []
    if any(isinstance(part, dict) and part.get("type") == "Lowercase" for part in parts):
        return dict(content)
    return {**content, "normalizer": {"type": "Sequence", "normalizers": [{"type": "Lowercase"}, *parts]}}


def _with_prefix(part: Any, prefix: bool) -> Any:
    """A pre-tokenizer that puts a space before a text or not, as transformers' classes of byte-level BPE change it."""
    inner = part.get("pretokenizers") if isinstance(part, dict) else None
    if isinstance(inner, list):
        return {**part, "pretokenizers": [_with_prefix(one, prefix) for one in inner]}
    return {**part, "add_prefix_space": prefix} if isinstance(part, dict) and part.get("type") == "ByteLevel" else part


def name_unused_tokens(tokens: Sequence[str], rows: int) -> list[str]:
    """Names `[unusedN]` for the rows of the token embedding without a token, as where their number was rounded up."""
    taken = set(tokens)
    names = (name for name in (f"[unused{number}]" for number in itertools.count()) if name not in taken)
    return list(itertools.islice(names, max(rows - len(tokens), 0)))


def add_unused_tokens(content: Mapping[str, Any], tokens: Sequence[str], rows: int) -> dict[str, Any]:
    """Adds the special tokens of `name_unused_tokens` to a `tokenizer.json`."""
    spare = [
        {"id": number, "content": name, **SPECIAL_FLAGS}
        for number, name in enumerate(name_unused_tokens(tokens, rows), len(tokens))
    ]
    return {**content, "added_tokens": [*(content.get("added_tokens") or []), *spare]}


def read_max_length(folder: Path) -> int | None:
    """The longest input in tokens; None where `tokenizer_config.json` has none."""
    return read_length(folder / SETTINGS_FILE, _read_settings(folder), "model_max_length")


def write_definition(
    folder: Path, content: Mapping[str, Any], special: Sequence[str], max_length: int, *, segments: bool
) -> None:
    """Writes `tokenizer.json` and `tokenizer_config.json` of a tokenizer that is not WordPiece.

    `segments` is whether the model reads those of a pair: the class that is written gives none by default.
    """
    mask = special[-1]
    settings = {
        "model_input_names": ["input_ids", *(["token_type_ids"] if segments else []), "attention_mask"],
        # A mask in place of the unknown token says that bytes leave none.
        **{key: token for key, token in zip(TOKEN_KEYS, special, strict=True) if (key, token) != ("unk_token", mask)},
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": max_length,
    }
    write_json(folder / SETTINGS_FILE, settings)
    write_json(folder / TOKENIZER_FILE, {key: value for key, value in content.items() if key != NAMED_TOKENS})


class CheckpointVocabulary(NamedTuple):
    """The tokens, by id, of a WordPiece tokenizer, and the longest input, if the files have one."""

    tokens: tuple[str, ...]
    lowercase: Lowercasing
    max_length: int | None


def read_vocabulary(folder: Path) -> CheckpointVocabulary:
    """Reads `vocab.txt` or `tokenizer.json`, `tokenizer_config.json` and `special_tokens_map.json`."""
    settings = _read_settings(folder)
    tokenizer = _read_if_there(folder / TOKENIZER_FILE)
    lines = read_vocabulary_file(folder / VOCABULARY_FILE) if (folder / VOCABULARY_FILE).is_file() else None
    entries = None if tokenizer is None else read_tokenizer(folder / TOKENIZER_FILE, tokenizer)
    if lines is not None and entries is not None:
        # Other libraries may read either.
        for number, pair in enumerate(itertools.zip_longest(lines, entries)):
            if pair[0] != pair[1]:
                line, entry = ("none" if token is None else repr(token) for token in pair)
                raise ValueError(
                    f"{folder / VOCABULARY_FILE} and {folder / TOKENIZER_FILE} must hold the same tokens, got "
                    f"{line} and {entry} for the id {number}"
                )
    tokens = entries if lines is None else lines
    if tokens is None:
        raise FileNotFoundError(f"{folder} has no vocabulary: neither {VOCABULARY_FILE} nor {TOKENIZER_FILE}")
    _check_settings(folder / SETTINGS_FILE, settings, tokens)
    _check_special(folder / SPECIAL_TOKENS_FILE, _read_if_there(folder / SPECIAL_TOKENS_FILE) or {}, tokens)
    return CheckpointVocabulary(
        tokens,
        _lowercase(folder, settings, None if tokenizer is None else normalizer_of(tokenizer)),
        read_length(folder / SETTINGS_FILE, settings, "model_max_length"),
    )


def write_settings(folder: Path, lowercase: Lowercasing, max_length: int, tokens: Sequence[str]) -> None:
    """Writes `tokenizer_config.json`."""
    special = name_special_tokens(tokens)
    settings = {
        **special,
        "tokenizer_class": "BertTokenizer" if special["sep_token"] == SEP else "MPNetTokenizer",
        **write_lowercase("do_lower_case", lowercase),
        "tokenize_chinese_chars": True,
        "model_max_length": max_length,
    }
    write_json(folder / SETTINGS_FILE, settings)


def read_vocabulary_file(path: Path) -> tuple[str, ...]:
    """The tokens of a `vocab.txt`, one per line."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} must hold UTF-8: {error}; likely it was saved in another encoding") from error
    if text.startswith("\ufeff"):
        raise ValueError(f"{path} must begin with a token, got a byte order mark; save it as UTF-8 without one")
    if hint := hint_of_pointer(path):
        raise ValueError(f"{path} must hold a token on each line{hint}")
    tokens = tuple(text.removesuffix("\n").split("\n")) if text else ()
    if "" in tokens:
        raise ValueError(f"{path}: line {tokens.index('') + 1} must hold a token, got a blank line")
    return tokens


def write_vocabulary_file(path: Path, tokens: tuple[str, ...]) -> None:
    """Writes a `vocab.txt`."""
    path.write_bytes("".join(f"{token}\n" for token in tokens).encode())


def check_size(source: str, tokens: tuple[str, ...], rows: int) -> None:
    """Checks that the token embedding has a row for each token."""
    if len(tokens) > rows:
        raise ValueError(
            f"{source}: the vocabulary must hold at most vocab_size={rows} tokens, as the configuration says, "
            f"got {len(tokens)}; likely it is another model's"
        )


def _read_if_there(path: Path) -> dict[str, Any] | None:
    return read_json(path) if path.is_file() else None


def _check_settings(path: Path, settings: Mapping[str, Any], tokens: Sequence[str]) -> None:
    check_only(path, settings, {**_COMMON_SETTINGS, **_WORD_SETTINGS})
    if _class_of(settings) not in _CLASSES:
        raise ValueError(
            f"{path}: tokenizer_class must be one of {_CLASSES}, got {settings['tokenizer_class']!r}, whose rules "
            "are none of this library's: use a checkpoint with one of these, or the outputs of this one as soft labels"
        )
    _check_special(path, settings, tokens)


def _class_of(settings: Mapping[str, Any]) -> str:
    """The class of a tokenizer without `Fast`; BERT's where none is named."""
    return str(settings.get("tokenizer_class") or _CLASSES[0]).removesuffix("Fast")


def _check_special(path: Path, named: Mapping[str, Any], tokens: Sequence[str]) -> None:
    """Refuses special tokens that are not the vocabulary's; they are given by key."""
    for key, expected in name_special_tokens(tokens).items():
        token = expected if named.get(key) is None else content_of(path, key, named[key])
        if token != expected:
            raise ValueError(f"{path}: {key} must be {expected!r}, got {token!r}, which is not supported")


def _lowercase(folder: Path, settings: Mapping[str, Any], normalizer: Mapping[str, Any] | None) -> Lowercasing:
    """How text is lowercased, which a `normalizer` says to classes that `tokenizer.json` defines.

    transformers' own classes only read `tokenizer_config.json`, and lowercase if it has no key.
    """
    file, source = SETTINGS_FILE, {**settings, "lowercase": settings.get("do_lower_case")}
    if normalizer is not None and _class_of(settings) in _GENERIC_CLASSES:
        file, source = TOKENIZER_FILE, dict(normalizer)
    lowercase, strips = source.get("lowercase"), source.get("strip_accents")
    if lowercase is None:
        lowercase = True
        logger.warning("%s does not say whether text is lowercased (do_lower_case): it is, as in transformers", folder)
    for key, value in (("lowercasing", lowercase), ("strip_accents", strips)):
        if not isinstance(value, bool | None):
            raise ValueError(f"{folder / file}: {key} must be true or false, got {value!r}")
    strips = lowercase if strips is None else strips
    lowercase = lowercase or _lowercases_first(folder)
    if strips and not lowercase:
        raise ValueError(
            f"{folder / file}: strip_accents must be null or false where text is not lowercased, got true, which is "
            "not supported"
        )
    return "keep_accents" if lowercase and not strips else lowercase
