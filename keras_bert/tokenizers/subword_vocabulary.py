"""Vocabularies that a `tokenizer.json` describes, for Hugging Face's `tokenizers`: BPE, unigram and WordPiece."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from keras_bert.options.data import MODELS, NAMED_TOKENS, TOKEN_KEYS
from keras_bert.tokenizers.base import BaseTokenizer
from keras_bert.tokenizers.wordpiece_vocabulary import CONTINUATION

# A token for a byte of a character that the vocabulary lacks.
_BYTE = re.compile("<0x[0-9A-F]{2}>")

# The usual names of special tokens, by their keys in `tokenizer_config.json`, where neither it nor the file names them.
_USUAL_NAMES = {
    "pad_token": ("<pad>", "[PAD]", "<|pad|>"),
    "mask_token": ("<mask>", "[MASK]", "<|mask|>"),
    "unk_token": ("<unk>", "[UNK]"),
}


class SubwordVocabulary(BaseTokenizer):
    """The part of a subword tokenizer that only depends on its `tokenizer.json`, without padding and truncation.

    `NAMED_TOKENS` in the content maps keys of `tokenizer_config.json`, as `mask_token`, to the special tokens that are
    named there. `matcher` is a `tokenizers.Tokenizer` of Hugging Face, which splits texts into tokens. `mark` is the
    beginning of tokens that begin a word; of WordPiece, of those that continue one.
    """

    def __init__(self, content: Mapping[str, Any]) -> None:
        import tokenizers

        model = content.get("model")
        name = model.get("type") if isinstance(model, dict) else None
        if name not in MODELS:
            raise ValueError(f"tokenizer.json: model.type must be one of {list(MODELS)}, got {name!r}")
        self.kind = MODELS[name]
        self._content: dict[str, Any] = {**content, "truncation": None, "padding": None}
        try:
            if self.kind == "unigram":
                self._content["model"] = _name_pieces(content["model"])
            described = {key: value for key, value in self._content.items() if key != NAMED_TOKENS}
            self.matcher = tokenizers.Tokenizer.from_str(json.dumps(described))
        except Exception as error:  # the library raises nothing narrower
            raise ValueError(f"tokenizer.json must be what `tokenizers` reads: {error}") from error
        _check_templates(content.get("post_processor"))
        # `<mask>` in a text is text.
        self.matcher.encode_special_tokens = True
        self._is_byte_level = self.kind == "bpe" and "ByteLevel" in json.dumps(content.get("pre_tokenizer"))
        if self.kind == "bpe" and not self._is_byte_level and not content["model"].get("byte_fallback"):
            raise ValueError(
                "tokenizer.json: a BPE must work on bytes, with the pre_tokenizer ByteLevel, or fall back to bytes"
            )
        self.mark = "Ġ" if self._is_byte_level else CONTINUATION if self.kind == "wordpiece" else "▁"
        ids: dict[str, int] = self.matcher.get_vocab(with_added_tokens=True)
        if sorted(ids.values()) != list(range(len(ids))):
            raise ValueError("tokenizer.json must number its tokens from 0 on, each once")
        vocabulary = tuple(sorted(ids, key=ids.__getitem__))
        for number, token in enumerate(vocabulary):
            if self.kind == "unigram" and ("\n" in token or "\r" in token):
                rule = "tokenizer.json must hold no token with a line end, which vocab.txt cannot hold"
                raise ValueError(f"{rule}; got {token!r} as token {number}: train it on texts without line ends")
        between, second_segment = self._find_between()
        super().__init__(vocabulary, self._find_special(vocabulary), between, second_segment)
        # Text may hold other tokens, such as a piece `<b>`.
        self._markers &= {token.content for token in self.matcher.get_added_tokens_decoder().values() if token.special}

    def definition(self) -> dict[str, Any]:
        """The content of `tokenizer.json`, and `NAMED_TOKENS` where it does not tell which these are."""
        return dict(self._content)

    def continues(self, token: str) -> bool:
        return token.startswith(self.mark) == (self.kind == "wordpiece")

    def count_bytes(self, token: str) -> int:
        """See `BaseTokenizer`; each character of a byte-level token is a byte."""
        if self.kind == "wordpiece":
            return len(token.removeprefix(self.mark).encode()) + (not self.continues(token))
        if self._is_byte_level or _BYTE.fullmatch(token):
            return len(token) if self._is_byte_level else 1
        return len(token.replace(self.mark, " ").encode())

    def tokenize_words(self, words: Sequence[str]) -> Any:
        """See `BaseTokenizer`; in BPE a space begins a word."""
        return self.tokenize([f" {word}" for word in words] if self.kind == "bpe" else words)

    def _find_between(self) -> tuple[int, int]:
        """The number of end tokens between two texts, and the segment of the second one."""
        first, second = (self.matcher.encode(text, add_special_tokens=False).ids for text in ("a", "b"))
        alone, pair = self.matcher.encode("a"), self.matcher.encode("a", "b")
        between = len(pair) - len(first) - len(second) - 2
        marks = pair.ids[len(first) + 1 : len(first) + 1 + between]
        row = [*pair.ids[:1], *first, *marks, *second, *pair.ids[-1:]]
        around = [pair.ids[0], *first, pair.ids[-1]]
        if between not in (1, 2) or row != pair.ids or alone.ids != around or set(marks) != {pair.ids[-1]}:
            raise ValueError(
                "tokenizer.json: post_processor must put one token before a text and one after it, and the latter once "
                f"or twice between the texts of a pair, got {alone.ids} for a text {first} and {pair.ids} with {second}"
            )
        segment = pair.type_ids[-1]
        segments = [*[0] * (len(first) + 1 + between), *[segment] * (len(second) + 1)]
        if segment not in (0, 1) or pair.type_ids != segments or any(alone.type_ids):
            raise ValueError(
                "tokenizer.json: post_processor must give the type_id 0 to the first text and the end tokens after it, "
                f"and 0 or 1 to the second text and its end, got {alone.type_ids} for a text and {pair.type_ids} for "
                "a pair"
            )
        return between, segment

    def _find_special(self, vocabulary: Sequence[str]) -> list[str]:
        """The special tokens: tokens that the file uses, tokens that are named, or else tokens with usual names."""
        named, held = self._content.pop(NAMED_TOKENS, None) or {}, set(vocabulary)
        row, model = self.matcher.encode("a").ids, self._content["model"]
        special = {"cls_token": vocabulary[row[0]], "sep_token": vocabulary[row[-1]]}
        if model.get("unk_id") is not None:
            special["unk_token"] = model["vocab"][model["unk_id"]][0]
        elif self.kind == "wordpiece":
            special["unk_token"] = model["unk_token"]
        for key, names in _USUAL_NAMES.items():
            usual = special.get(key) or next((name for name in names if name in held), None)
            if usual is None and key == "unk_token" and self._is_byte_level:
                # Bytes leave no text unknown, and the mask stands for none of it.
                usual = special["mask_token"]
            # What the file uses stands in rows, whatever the settings beside it name.
            chosen = special.get(key) or named.get(key) or usual
            if chosen is None:
                raise ValueError(f"tokenizer.json must hold {' or '.join(names)}, got {len(held)} tokens without it")
            special[key] = chosen
            if chosen != usual:
                self._content[NAMED_TOKENS] = {**self._content.get(NAMED_TOKENS, {}), key: chosen}
        return [special[key] for key in TOKEN_KEYS]


def _name_pieces(model: Mapping[str, Any]) -> dict[str, Any]:
    """A unigram model in which each piece has a name of its own: CamemBERT's file holds `<unk>` twice."""
    pieces, named = list(model["vocab"]), {}
    if type(model.get("unk_id")) is int:
        named[pieces[model["unk_id"]][0]] = model["unk_id"]
    for number, (piece, score) in enumerate(pieces):
        if named.setdefault(piece, number) != number:
            pieces[number] = [f"{piece}NOTUSED{number}", score]
    return {**model, "vocab": pieces}


def _check_templates(processor: Any) -> None:
    """Checks that the templates of a post-processor define their tokens: `tokenizers` does not, and panics later."""
    for inner in (processor or {}).get("processors", []):
        _check_templates(inner)
    special_tokens = (processor or {}).get("special_tokens")
    if special_tokens is not None:
        parts = [*processor.get("single", []), *processor.get("pair", [])]
        for token in [part["SpecialToken"]["id"] for part in parts if "SpecialToken" in part]:
            if token not in special_tokens:
                rule = f"tokenizer.json: post_processor.special_tokens must hold {token!r}"
                raise ValueError(f"{rule}, got {list(special_tokens)}")
