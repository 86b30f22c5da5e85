"""Which parts of a `tokenizer.json` the tokenizers of apps know; the others are refused by name."""

import functools
from collections.abc import Mapping, Sequence
from typing import Any

# What the copies do, as the released checkpoints of RoBERTa, DeBERTa, ModernBERT, ALBERT and XLM-R need it.
_NORMALIZERS = ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Strip", "Replace", "Precompiled")
_SPLITTERS = ("WhitespaceSplit", "Metaspace", "ByteLevel")
# Expressions that are replaced -> those of a character of a run of two and more, and of a character that is replaced
# where it stands alone, too.
RUNS = {" {2,}": (" ", ""), r"\s{2,}|[\n\r\t]": (r"\s", r"[\n\r\t]")}
# Options of the models that the copies do not have -> their values without effect.
_BPE_OPTIONS = {"dropout": (None, 0.0), "continuing_subword_prefix": (None, ""), "end_of_word_suffix": (None, "")}
_MODEL_OPTIONS = {"byte_fallback": (None, False), "ignore_merges": (None, False), **_BPE_OPTIONS}


def find_copy_obstacle(content: Mapping[str, Any]) -> str:
    """The part of a `tokenizer.json` that the tokenizers of apps do not know; empty if they know all."""
    for step in list_steps(content.get("normalizer"), "normalizers"):
        pattern = step.get("pattern", {}).get("Regex")
        if step.get("type") not in _NORMALIZERS:
            return _describe("normalizer", step.get("type"), _NORMALIZERS)
        if pattern is not None and pattern not in RUNS:
            return _describe("normalizer Replace of the expression", pattern, tuple(RUNS))
    for step in list_steps(content.get("pre_tokenizer"), "pretokenizers"):
        if step.get("type") not in _SPLITTERS:
            return _describe("pre_tokenizer", step.get("type"), _SPLITTERS)
        if step.get("use_regex") is False:
            return _describe("pre_tokenizer ByteLevel with use_regex", False, (True,))
    for token in content.get("added_tokens") or []:
        flags = [flag for flag in ("single_word", "lstrip", "rstrip") if token.get(flag)]
        if flags and not token.get("special"):
            return _describe(f"added token with {flags[0]}", token.get("content"), ())
    model = content["model"]
    if model.get("type") == "WordPiece":
        return "the tokenizers for apps have no WordPiece with added tokens, or without a split at Chinese characters"
    for name, values in _MODEL_OPTIONS.items():
        if model.get(name) not in values:
            return _describe(f"model with {name}", model[name], values)
    missing = [character for character in byte_characters() if character not in model.get("vocab", {})]
    if model.get("type") == "BPE" and missing:
        return f"the tokenizers for apps need a token for each of the 256 bytes, got none for {missing[0]!r}"
    return ""


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
