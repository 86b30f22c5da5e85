"""Reads folders of tokenizers without `tokenizer.json`: `vocab.json` and `merges.txt`, or a model of sentencepiece.

The result is the `tokenizer.json` that transformers 5 makes of them: its `tokenization_NAME.py`, and the layouts of
fairseq in its `convert_slow_tokenizer.py`. The fields of a model: `sentencepiece_model.proto` of google/sentencepiece.
`tokenizers` does not read a model of sentencepiece: its reader needs a generated module of protobuf that it lacks.
"""

import base64
import dataclasses
import struct
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from keras_bert.core.folders import hint_of_pointer
from keras_bert.interop.configs import read_json
from keras_bert.interop.tokenizer_json import SPECIAL_FLAGS, build_post_processor
from keras_bert.options.data import TOKEN_KEYS

VOCABULARY_FILE, MERGES_FILE = "vocab.json", "merges.txt"
_ROBERTA = ("<pad>", "<unk>", "<s>", "</s>", "<mask>")
_DEBERTA = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_ALBERT = ("<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]")
_WORD_MARK = "▁"
_UNUSED_UNKNOWN = 4


@dataclasses.dataclass(frozen=True)
class _Layout:
    """How a class of tokenizers of transformers reads its files.

    Attributes:
        special: the special tokens, by `TOKEN_KEYS`.
        file: the model of sentencepiece; byte-level BPE has none.
        first, skipped, last: tokens that stand in front of the pieces, the number of pieces that they replace, and
            tokens behind the pieces.
        between, second_segment: see `BaseTokenizer`.
        splits_at_blanks: whether each word is tokenized by itself.
    """

    special: tuple[str, ...] = _ROBERTA
    file: str = ""
    first: tuple[str, ...] = ()
    skipped: int = 0
    last: tuple[str, ...] = ()
    between: int = 2
    second_segment: int = 0
    splits_at_blanks: bool = False


_FAIRSEQ: dict[str, Any] = {"file": "sentencepiece.bpe.model", "last": ("<mask>",), "splits_at_blanks": True}
_BERTS: dict[str, Any] = {"between": 1, "second_segment": 1}
# The name of a class of transformers in small letters, without `Tokenizer`, or a `model_type` without hyphens.
_LAYOUTS = {
    "roberta": _Layout(),
    "longformer": _Layout(),
    "deberta": _Layout(_DEBERTA),
    "xlmroberta": _Layout(first=("<s>", "<pad>", "</s>", "<unk>"), skipped=3, **_FAIRSEQ),
    "camembert": _Layout(first=("<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>", "<unk>NOTUSED"), skipped=1, **_FAIRSEQ),
    "albert": _Layout(_ALBERT, "spiece.model", splits_at_blanks=True, **_BERTS),
    "bigbird": _Layout(_ALBERT, "spiece.model", **_BERTS),
    "debertav2": _Layout(_DEBERTA, "spm.model", **_BERTS),
}
SLOW_FILES = (VOCABULARY_FILE, *dict.fromkeys(layout.file for layout in _LAYOUTS.values() if layout.file))


def read_slow_tokenizer(folder: Path, settings: Mapping[str, Any], named: Mapping[str, str]) -> dict[str, Any]:
    """The content of `tokenizer.json` for the files of a folder.

    `settings` are those of `tokenizer_config.json` with the `model_type`, and `named` the special tokens by
    `TOKEN_KEYS` that files name.
    """
    layout = _find_layout(folder, settings)
    special = [named.get(key, token) for key, token in zip(TOKEN_KEYS, layout.special, strict=True)]
    path = folder / "added_tokens.json"
    added: dict[str, int] = read_json(path) if path.is_file() else {}
    if layout.file:
        tokens, whole, parts = _read_unigram(folder / layout.file, layout, special, settings)
    else:
        tokens, whole, parts = _read_byte_level(folder, settings)
    ids = {token: number for number, token in enumerate(tokens)}
    for token in [*added, *special]:
        ids.setdefault(token, added.get(token, len(ids)))
    if not all(type(number) is int for number in ids.values()) or sorted(ids.values()) != list(range(len(ids))):
        raise ValueError(f"{path} must number its tokens from {len(tokens)} on, each once, got {added}")
    matched = sorted({*special, *added, *whole}, key=lambda token: ids[token])
    _, _, cls, sep, _ = special
    processor = build_post_processor(cls, sep, ids, between=layout.between, second_segment=layout.second_segment)
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {"id": ids[token], "content": token, **SPECIAL_FLAGS, "special": token not in whole} for token in matched
        ],
        "post_processor": processor,
        **parts,
    }


def special_of_class(settings: Mapping[str, Any], content: Mapping[str, Any]) -> dict[str, str]:
    """The special tokens that a class of transformers has by default, as far as a tokenizer has them."""
    layout = _LAYOUTS.get(_stem(str(settings.get("tokenizer_class"))))
    added = {token["content"] for token in content.get("added_tokens") or []}
    special = zip(TOKEN_KEYS, layout.special if layout else (), strict=False)
    return {key: token for key, token in special if token in added}


def _stem(name: str) -> str:
    return name.removesuffix("Fast").removesuffix("Tokenizer").replace("-", "").replace("_", "").lower()


def _find_layout(folder: Path, settings: Mapping[str, Any]) -> _Layout:
    """The layout of the tokenizer's class, or else of the model's family."""
    names = [str(settings.get(key)) for key in ("tokenizer_class", "model_type")]
    for name in names:
        layout = _LAYOUTS.get(_stem(name))
        if layout is not None and (folder / (layout.file or VOCABULARY_FILE)).is_file():
            return layout
    raise ValueError(
        f"{folder} has no tokenizer.json, and its tokenizer must be of the families {list(_LAYOUTS)} with their files, "
        f"got tokenizer_class and model_type {names}: let transformers write tokenizer.json, "
        "AutoTokenizer.from_pretrained(folder).save_pretrained(folder)"
    )


def _read_byte_level(folder: Path, settings: Mapping[str, Any]) -> tuple[list[str], list[str], dict[str, Any]]:
    """The tokens by id, those that are matched as a whole, and the model and its steps."""
    ids = read_json(folder / VOCABULARY_FILE)
    if not all(type(number) is int for number in ids.values()) or sorted(ids.values()) != list(range(len(ids))):
        raise ValueError(f"{folder / VOCABULARY_FILE} must map tokens to the ids from 0 on, each once")
    if not (folder / MERGES_FILE).is_file():
        raise FileNotFoundError(f"{folder} has {VOCABULARY_FILE} and lacks {MERGES_FILE} beside it")
    try:
        lines = (folder / MERGES_FILE).read_text(encoding="utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise ValueError(f"{folder / MERGES_FILE} must hold UTF-8: {error}") from error
    merges = [line for line in lines if line and not line.startswith("#version")]
    for merge in merges:
        left, _, right = merge.partition(" ")
        if not {left, right, left + right} <= ids.keys():
            raise ValueError(f"{folder / MERGES_FILE} must join tokens of {VOCABULARY_FILE} in pairs, got {merge!r}")
    spaced = bool(settings.get("add_prefix_space", False))
    level = {"type": "ByteLevel", "add_prefix_space": spaced, "trim_offsets": True, "use_regex": True}
    model = {"type": "BPE", "unk_token": None, "fuse_unk": False, "vocab": ids, "merges": merges}
    parts = {"normalizer": None, "pre_tokenizer": level, "decoder": level, "model": model}
    return sorted(ids, key=ids.__getitem__), [], parts


def _read_unigram(
    path: Path, layout: _Layout, special: Sequence[str], settings: Mapping[str, Any]
) -> tuple[list[str], list[str], dict[str, Any]]:
    """The same of a model of sentencepiece."""
    model = read_sentencepiece(path)
    # The last one stands in place of <unk>, and is never chosen.
    scored = [(token, -100.0 * (place == _UNUSED_UNKNOWN)) for place, token in enumerate(layout.first)]
    scored += [(piece.text, piece.score) for piece in model.pieces[layout.skipped :]]
    scored += [(token, 0.0) for token in layout.last]
    tokens, unknown = [token for token, _ in scored], special[1]
    if len(set(tokens)) != len(tokens) or unknown not in tokens:
        raise ValueError(f"{path} must hold each piece once, and {unknown!r} among them")
    scheme = "never" if settings.get("add_prefix_space") is False else "always"
    marks = {"type": "Metaspace", "replacement": _WORD_MARK, "prepend_scheme": scheme, "split": True}
    steps = _normalizers(layout, model.charsmap, settings)
    splitters = [{"type": "WhitespaceSplit"}] if layout.splits_at_blanks else []
    if settings.get("split_by_punct"):
        splitters.append({"type": "Punctuation", "behavior": "Isolated"})
    parts = {
        "normalizer": {"type": "Sequence", "normalizers": steps} if steps else None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [*splitters, marks]},
        "decoder": marks,
        "model": {"type": "Unigram", "unk_id": tokens.index(unknown), "vocab": scored, "byte_fallback": False},
    }
    return tokens, [piece.text for piece in model.pieces if piece.kind == _USER_DEFINED], parts


def _normalizers(layout: _Layout, charsmap: bytes, settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    precompiled = {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(charsmap).decode()}
    if layout.file == "spm.model":
        lowercase = [{"type": "Lowercase"}] if settings.get("do_lower_case") else []
        strip = {"type": "Strip", "strip_left": False, "strip_right": True}
        return [*lowercase, _replace(" ", Regex=r"\s{2,}|[\n\r\t]"), {"type": "NFC"}, strip]
    if not layout.splits_at_blanks:
        return [_replace(_WORD_MARK, Regex=" {2,}")]
    steps = []
    if layout.special is _ALBERT:
        steps = [_replace('"', String="``"), _replace('"', String="''")]
        steps += [] if settings.get("keep_accents") else [{"type": "NFKD"}, {"type": "StripAccents"}]
        steps += [{"type": "Lowercase"}] if settings.get("do_lower_case", True) else []
    return [*steps, *([precompiled] if charsmap else [])]


def _replace(content: str, **pattern: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": pattern, "content": content}


class Piece(NamedTuple):
    """A piece of a model of sentencepiece; `kind` is 3 for control, 4 for user-defined pieces."""

    text: str
    score: float
    kind: int


class SentencePieceModel(NamedTuple):
    """What a tokenizer needs of a model of sentencepiece; `charsmap` is its compiled table of replaced characters."""

    pieces: list[Piece]
    charsmap: bytes


_UNIGRAM, _USER_DEFINED = 1, 4


def read_sentencepiece(path: Path) -> SentencePieceModel:
    """Reads a unigram model of sentencepiece."""
    pieces, charsmap, kind = [], b"", _UNIGRAM
    try:
        for number, content in _fields(path.read_bytes()):
            if number == 1:
                fields = dict(_fields(content))
                text, score = fields[1].decode(), struct.unpack("<f", fields.get(2, bytes(4)))[0]
                pieces.append(Piece(text, score, int(fields.get(3, 1))))
            elif number == 2:
                kind = dict(_fields(content)).get(3, _UNIGRAM)
            elif number == 3:
                charsmap = bytes(dict(_fields(content)).get(2, b""))
        if not pieces or not all(abs(piece.score) < float("inf") for piece in pieces):
            raise ValueError("it must hold pieces with finite scores")
    except (LookupError, TypeError, ValueError, AttributeError, struct.error) as error:
        cause = hint_of_pointer(path) or "; likely it was cut short"
        raise ValueError(f"{path} is not a whole model of sentencepiece: {error}{cause}") from error
    if kind != _UNIGRAM:
        raise ValueError(
            f"{path} must be a unigram model of sentencepiece, got the kind {kind}, which is not supported"
        )
    return SentencePieceModel(pieces, charsmap)


def _fields(content: bytes) -> Iterator[tuple[int, Any]]:
    """The fields of a message of protobuf: numbers, or the bytes of strings, messages and floats."""
    position = 0

    def read_number() -> int:
        nonlocal position
        value = shift = 0
        while True:
            byte = content[position]
            position += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
            if shift > 63:
                raise ValueError("a number has more than 64 bits")

    while position < len(content):
        key = read_number()
        kind = key & 7
        if kind == 0:
            yield key >> 3, read_number()
            continue
        if kind not in (1, 2, 5):
            raise ValueError(f"a field has the kind {kind}")
        size = {1: 8, 5: 4}.get(kind) or read_number()
        if position + size > len(content):
            raise ValueError(f"a field of {size} bytes ends behind the file")
        yield key >> 3, content[position : position + size]
        position += size
