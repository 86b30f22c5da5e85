"""The reduction of a vocabulary to the tokens that some texts need."""

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from keras_bert.core.checks import check
from keras_bert.tokenizers.base import BaseTokenizer
from keras_bert.tokenizers.subwords import SubwordTokenizer
from keras_bert.tokenizers.tokenizer import Tokenizer
from keras_bert.tokenizers.wordpiece_vocabulary import CONTINUATION

_ASCII = frozenset(map(chr, range(33, 127)))
_MARKS = {"wordpiece": CONTINUATION, "unigram": "▁", "bpe": ""}


def choose_vocabulary(
    tokenizer: BaseTokenizer, counts: Any, *, size: int | None = None, min_count: int = 1
) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The ids (kept,), rising, of the tokens to keep, by the number of times that each occurs in some texts.

    Special tokens are kept, and single characters, so that other words can be spelt: those of ASCII and of tokens that
    occur; in a vocabulary of bytes all. Then tokens are kept by their counts, with the tokens that merge into them. A
    text whose tokens are all kept has the same tokens as before.

    `size` is the maximum number of tokens. If fewer occur, others are added in the order of the vocabulary, which
    begins with the most frequent ones. Without a size all tokens are kept that occur at least `min_count` times.
    """
    check("choose_vocabulary", "min_count", min_count >= 1, "be at least 1", min_count)
    counts = np.asarray(counts)
    makers = _makers(tokenizer)
    kept = {*tokenizer.special_ids, *_characters(tokenizer, counts)}
    least = len(kept)
    check("choose_vocabulary", "size", size is None or size >= least, f"be at least {least} for these texts", size)
    for number in np.argsort(-counts, kind="stable").tolist():
        if size is None and counts[number] < min_count:
            break
        with_parts = {*_with_parts(number, makers)} - kept
        if size is None or len(kept) + len(with_parts) <= size:
            kept |= with_parts
    return np.array(sorted(kept), np.int64)


def reduce_tokenizer(tokenizer: BaseTokenizer, kept: Sequence[int]) -> BaseTokenizer:
    """The tokenizer with only the tokens of `choose_vocabulary`, which get new ids in the same order."""
    tokens = [tokenizer.vocabulary[number] for number in kept]
    if isinstance(tokenizer, Tokenizer):
        return Tokenizer(tokens, tokenizer.lowercase)
    ids = {token: n for n, token in enumerate(tokens)}
    made: dict[str, Any] = copy.deepcopy(dict(tokenizer.definition()))
    model = made["model"]
    if isinstance(model["vocab"], dict):
        model["vocab"] = {token: ids[token] for token in model["vocab"] if token in ids}
        if "merges" in model:
            pairs = _merges(model)
            model["merges"] = [list(pair) for pair in pairs if {*pair, "".join(pair)} <= ids.keys()]
    else:
        unknown = model["vocab"][model["unk_id"]][0]
        model["vocab"] = [entry for entry in model["vocab"] if entry[0] in ids]
        model["unk_id"] = [entry[0] for entry in model["vocab"]].index(unknown)
    added = [entry for entry in made.get("added_tokens") or [] if entry["content"] in ids]
    made["added_tokens"] = [{**entry, "id": ids[entry["content"]]} for entry in added]
    made["post_processor"] = _renumbered(made.get("post_processor"), ids)
    return SubwordTokenizer(made)


def _characters(tokenizer: BaseTokenizer, counts: Any) -> Iterator[int]:
    """Yields the ids of tokens with a single character, which spell words that other tokens do not cover."""
    mark = _MARKS[tokenizer.kind]
    bare = [token.removeprefix(mark) for token in tokenizer.vocabulary]
    seen = _ASCII.union(*(bare[number] for number in np.flatnonzero(counts)))
    for number, token in enumerate(bare):
        if tokenizer.kind == "bpe":
            # Gemma has tokens for characters, and others for the bytes of the rest.
            if len(token) <= 1 or tokenizer.count_bytes(token) == 1:
                yield number
        elif len(token) <= 1 and (not token or token in seen):
            yield number


def _makers(tokenizer: BaseTokenizer) -> dict[int, tuple[int, int]]:
    """Maps each token of BPE to the two tokens that merge into it; empty for other kinds."""
    if tokenizer.kind != "bpe":
        return {}
    ids = {token: number for number, token in enumerate(tokenizer.vocabulary)}
    parts: dict[int, tuple[int, int]] = {}
    for first, second in _merges(tokenizer.definition()["model"]):
        parts.setdefault(ids[first + second], (ids[first], ids[second]))
    return parts


def _merges(model: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Reads the merges of BPE; older files have both tokens in one string."""
    pairs = [merge.split(" ") if isinstance(merge, str) else merge for merge in model["merges"]]
    return [(first, second) for first, second in pairs]


def _with_parts(number: int, makers: Mapping[int, tuple[int, int]]) -> Iterator[int]:
    """Yields a token and all tokens that merge into it."""
    yield number
    for part in makers.get(number, ()):
        yield from _with_parts(part, makers)


def _renumbered(part: Any, ids: Mapping[str, int]) -> Any:
    """Replaces the ids in a part of a post-processor: pairs of a token and its id, and tokens with lists of ids."""
    if isinstance(part, list):
        if len(part) == 2 and isinstance(part[0], str) and isinstance(part[1], int):
            return [part[0], ids[part[0]]]
        return [_renumbered(item, ids) for item in part]
    if not isinstance(part, dict):
        return part
    if "ids" in part and "tokens" in part:
        # A template may define tokens that it does not use.
        return {**part, "ids": [ids[token] for token in part["tokens"] if token in ids]}
    return {name: _renumbered(value, ids) for name, value in part.items()}
