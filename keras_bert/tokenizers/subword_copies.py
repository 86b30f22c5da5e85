"""Which parts of a `tokenizer.json` the tokenizers of apps know; the others are refused by name."""

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from keras_bert.tokenizers.wordpiece_vocabulary import CONTINUATION

# What the copies do, as the released checkpoints of these families need it: RoBERTa, DeBERTa, ModernBERT, ALBERT,
# XLM-R, mmBERT (Gemma 2's tokenizer), EuroBERT (Llama 3's), and BERT with added tokens.
_NORMALIZERS = (
    "NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Strip", "Replace", "Precompiled", "BertNormalizer"
)  # fmt: skip
_SPLITTERS = ("WhitespaceSplit", "Metaspace", "ByteLevel", "BertPreTokenizer", "Split")
# The expression of Llama 3, of which `Split` makes words.
LLAMA_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
# Expressions that are replaced -> those of a character of a run of two and more, and of a character that is replaced
# where it stands alone, too.
RUNS = {" {2,}": (" ", ""), r"\s{2,}|[\n\r\t]": (r"\s", r"[\n\r\t]")}
# Options of the models that the copies do not have -> their values without effect.
_MODEL_OPTIONS: dict[str, dict[str, tuple[Any, ...]]] = {
    "BPE": {
        "dropout": (None, 0.0),
        "continuing_subword_prefix": (None, ""),
        "end_of_word_suffix": (None, ""),
        "ignore_merges": (None, False, True),
    },
    "Unigram": {"byte_fallback": (None, False)},
    "WordPiece": {"continuing_subword_prefix": (CONTINUATION,)},
}


def find_copy_obstacle(content: Mapping[str, Any]) -> str:
    """The part of a `tokenizer.json` that the tokenizers of apps do not know; empty if they know all."""
    steps = list_steps(content.get("normalizer"), "normalizers")
    for step in steps:
        pattern = step.get("pattern", {}).get("Regex")
        if step.get("type") not in _NORMALIZERS:
            return _describe("normalizer", step.get("type"), _NORMALIZERS)
        if pattern is not None and pattern not in RUNS:
            return _describe("normalizer Replace of the expression", pattern, tuple(RUNS))
    for step in (splitters := list_steps(content.get("pre_tokenizer"), "pretokenizers")):
        if step.get("type") not in _SPLITTERS:
            return _describe("pre_tokenizer", step.get("type"), _SPLITTERS)
        if step["type"] == "Split" and not (splits_nothing(step, steps) or _splits_as_llama(step)):
            return _describe("pre_tokenizer Split at", step.get("pattern"), ("the expression of Llama 3",))
        if step.get("use_regex") is False and (
            step.get("add_prefix_space") or not any(map(_splits_as_llama, splitters))
        ):
            return _describe("pre_tokenizer ByteLevel with use_regex", False, (True,))
    model = content["model"]
    for name, values in _MODEL_OPTIONS.get(str(model.get("type")), {}).items():
        if model.get(name) not in values:
            return _describe(f"model with {name}", model[name], values)
    if model.get("type") == "BPE":
        missing = [token for token in byte_tokens(model) if token not in model.get("vocab", {})]
        if missing:
            return f"the tokenizers for apps need a token for each of the 256 bytes, got none for {missing[0]!r}"
    if looks_words_up(model) and sorted(model["vocab"].values()) != list(range(len(model["vocab"]))):
        return "the tokenizers for apps need words with the ids from 0 on, each once"
    return ""


def looks_words_up(model: Mapping[str, Any]) -> bool:
    """Whether a model finds words in its vocabulary: all of WordPiece, those without merges of a BPE."""
    return model.get("type") == "WordPiece" or bool(model.get("ignore_merges"))


def splits_nothing(step: Mapping[str, Any], normalizers: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a `Split` is at a text that the last normalizer replaces, as Gemma's spaces are."""
    pattern = step.get("pattern", {}).get("String")
    last = normalizers[-1] if normalizers else {}
    replaced = last.get("type") == "Replace" and last["pattern"].get("String") == pattern
    return bool(pattern) and len(pattern) == 1 and replaced and pattern not in last["content"]


def _splits_as_llama(step: Mapping[str, Any]) -> bool:
    is_isolated = step.get("behavior") == "Isolated" and not step.get("invert")
    return bool(step.get("type") == "Split" and is_isolated and step["pattern"].get("Regex") == LLAMA_WORDS)


def byte_tokens(model: Mapping[str, Any]) -> list[str]:
    """The tokens of the 256 bytes of a BPE: of all text, or of characters without a token of their own."""
    if model.get("byte_fallback"):
        return [f"<0x{byte:02X}>" for byte in range(256)]
    return list(byte_characters())


def list_steps(part: Mapping[str, Any] | None, name: str) -> list[Mapping[str, Any]]:
    """The steps of a normalizer, pre-tokenizer or post-processor, those of sequences (in their field `name`) singly."""
    if part is None:
        return []
    if not isinstance(part, Mapping):
        raise ValueError(f"tokenizer.json must hold objects for steps, got {part!r}")
    return [step for inner in part[name] for step in list_steps(inner, name)] if name in part else [part]


@functools.cache
def byte_characters() -> str:
    """The character that stands for each byte in byte-level BPE, by the byte (`bytes_to_unicode` of GPT-2)."""
    printed = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = (code for code in range(256) if code not in printed)
    characters = {code: chr(code) for code in printed} | {code: chr(256 + n) for n, code in enumerate(others)}
    return "".join(characters[code] for code in range(256))


def _describe(part: str, value: Any, alternatives: Sequence[Any]) -> str:
    clause = f"; they have {', '.join(map(str, alternatives))}" if alternatives else ""
    return f"the tokenizers for apps have no {part} {value!r}{clause}"
