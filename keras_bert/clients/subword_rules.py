"""The rules of BPE, unigram and described WordPiece for the tokenizers of apps: what a `tokenizer.json` does to a text.

As `characters.txt` for WordPiece, they hold the classes of characters as the library here has them: platforms have
other versions of Unicode.
"""

import base64
import functools
import itertools
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from keras_bert.clients.graphemes import grapheme_classes, read_charsmap
from keras_bert.tokenizers.subword_copies import (
    RUNS,
    byte_tokens,
    find_copy_obstacle,
    list_steps,
    looks_words_up,
    splits_nothing,
)
from keras_bert.tokenizers.subword_vocabulary import SubwordVocabulary
from keras_bert.tokenizers.unicode_rules import punctuation

# Line ends part the characters of a probe; the library reads them as white space, which changes under no step.
_CODES = tuple(code for code in range(0x110000) if not 0xD800 <= code < 0xE000 and code not in (0xA, 0xD))
_SYLLABLES = range(0xAC00, 0xD7A4)
# Of the highest combining class, so that all other marks move in front of it.
_LAST_MARK = 0x345
# A grapheme that is longer is replaced character by character (`tokenizers`' `Precompiled`).
_LONGEST_GRAPHEME = 5


def subword_rules(tokenizer: SubwordVocabulary) -> str:
    """Returns the content of `subwords.txt`.

    Returns:
        Lines of a word and numbers: code points and keys of them, `65.301`, are hexadecimal, all else is decimal.
        `kind`, `row CLS SEP UNK BETWEEN SECOND_SEGMENT`, `mark CODE` of words and `special ID ...` come first, then the
        offsets that byte-level BPE trims and the added tokens; then `step KIND ...`, each with its
        `map KEY CODE ...`, `order CODE CLASS` and `pair FIRST SECOND CODE`; `split ...`; `class NAME FIRST LAST`;
        and of the model `words COUNT LONGEST` where it looks up words, the first `COUNT` tokens, `bytes ID ...`,
        `letter CODE ID` and `merge LEFT RIGHT ID`, or a `score` for each token from id 0 on.
    """
    content = tokenizer.definition()
    if obstacle := find_copy_obstacle(content):
        raise ValueError(f"tokenizer.json: {obstacle}")
    lines = [
        f"kind {tokenizer.kind}",
        f"row {tokenizer.cls_id} {tokenizer.sep_id} {tokenizer.unknown_id} {tokenizer.between} "
        f"{tokenizer.second_segment}",
    ]
    if tokenizer.kind != "wordpiece":
        lines.append(f"mark {ord(tokenizer.mark):x}")
    classes = {"blank": frozenset(code for code in range(0x110000) if chr(code).isspace())}
    lines.append(f"special {' '.join(map(str, tokenizer.special_ids))}")
    lines += [
        f"trim {int(step['add_prefix_space'])}"
        for step in list_steps(content.get("post_processor"), "processors")
        if step["type"] in ("ByteLevel", "RobertaProcessing") and step["trim_offsets"]
    ]
    lines += _added_tokens(tokenizer.matcher, content, classes)
    normalizers = list_steps(content.get("normalizer"), "normalizers")
    for step in normalizers:
        lines += _normalizer_lines(step, classes)
    for step in list_steps(content.get("pre_tokenizer"), "pretokenizers"):
        if step["type"] != "Split" or not splits_nothing(step, normalizers):
            lines += _splitter_lines(step, classes)
    lines += [f"class {name} {first:x} {last:x}" for name, codes in classes.items() for first, last in ranges(codes)]
    # A line without code points after its last word has no blank there, behind which readers would expect one.
    return "\n".join(line.rstrip(" ") for line in (*lines, *_model_lines(tokenizer, content["model"]))) + "\n"


def ranges(codes: Iterable[int]) -> list[tuple[int, int]]:
    """Code points as ranges, first and last."""
    runs: list[tuple[int, int]] = []
    for code in sorted(codes):
        if runs and runs[-1][1] == code - 1:
            runs[-1] = (runs[-1][0], code)
        else:
            runs.append((code, code))
    return runs


def _added_tokens(matcher: Any, content: Mapping[str, Any], classes: dict[str, frozenset[int]]) -> Iterator[str]:
    """Added tokens, which are matched before a text is split; special ones are matched, too, but count as text."""
    for token in content.get("added_tokens") or []:
        text = token["content"]
        if token["normalized"] and matcher.normalizer is not None:
            text = matcher.normalizer.normalize_str(text)
        place = "normalized" if token["normalized"] else "raw"
        flags = "".join(str(int(bool(token[flag]))) for flag in ("single_word", "lstrip", "rstrip"))
        if text:
            yield f"added {place} {int(token['special'])} {token['id']} {flags} {_hexadecimal(text)}"
        if "1" in flags and not token["special"]:
            classes.update(word=_word_characters(), white=_white_space())


def _normalizer_lines(step: Mapping[str, Any], classes: dict[str, frozenset[int]]) -> Iterator[str]:
    kind = step["type"]
    if kind in ("NFC", "NFD", "NFKC", "NFKD"):
        yield f"step {'composed' if kind.endswith('C') else 'decomposed'}"
        yield from _normalization_form("K" in kind)
    elif kind == "BertNormalizer":
        if step["clean_text"]:
            cleaned = _replacements_of_bert("clean_text")
            classes["dropped"] = frozenset(ord(key) for key, text in cleaned.items() if not text)
            yield "step collapse none dropped"
            yield "step characters"
            yield from _maps({key: text for key, text in cleaned.items() if text})
        if step["handle_chinese_chars"]:
            classes["chinese"] = frozenset(map(ord, _replacements_of_bert("handle_chinese_chars")))
            yield "step spaced chinese"
        if step["lowercase"] if step["strip_accents"] is None else step["strip_accents"]:
            accents = _replacements_of_bert("strip_accents")
            classes["accents"] = frozenset(ord(key) for key, text in accents.items() if not text)
            yield "step decomposed"
            yield from _normalization_form(False)
            yield "step collapse none accents"
        if step["lowercase"]:
            yield from _normalizer_lines({"type": "Lowercase"}, classes)
    elif kind in ("Lowercase", "StripAccents"):
        yield "step characters"
        yield from _maps(_replacements(kind))
    elif kind == "Strip":
        yield f"step strip {int(step['strip_left'])} {int(step['strip_right'])}"
        classes["white"] = _white_space()
    elif kind == "Replace":
        pattern, texts = step["pattern"], _hexadecimal(step["content"])
        if "String" in pattern:
            yield f"step replace {_key(pattern['String'])} {texts}"
            return
        run, alone = RUNS[pattern["Regex"]]
        names = [f"{name}{list(RUNS).index(pattern['Regex'])}" for name in ("run", "alone")]
        classes.update({name: _matches(part) for name, part in zip(names, (run, alone), strict=True) if part})
        yield f"step collapse {' '.join(names)} {texts}"
    elif kind == "Precompiled":
        yield "step graphemes"
        replaced = read_charsmap(base64.b64decode(step["precompiled_charsmap"]))
        looked_up = (key for key in replaced if len(key) == 1 or len(key.encode()) <= _LONGEST_GRAPHEME)
        yield from _maps({key: replaced[key] for key in looked_up})
        classes.update(grapheme_classes())


def _splitter_lines(step: Mapping[str, Any], classes: dict[str, frozenset[int]]) -> Iterator[str]:
    kind = step["type"]
    if kind == "WhitespaceSplit":
        yield "split white"
        classes["white"] = _white_space()
    elif kind == "Metaspace":
        scheme = "never" if step.get("add_prefix_space") is False else step.get("prepend_scheme", "always")
        yield f"split words {ord(step['replacement']):x} {scheme} {int(step.get('split') is not False)}"
    elif kind == "BertPreTokenizer":
        yield "split white"
        yield "split marks"
        classes.update(white=_white_space(), punctuation=punctuation())
    elif kind == "Split" or step.get("use_regex") is not False:
        yield "split runs" if kind == "Split" else f"split bytes {int(step['add_prefix_space'])}"
        patterns = {"letter": r"\p{L}+", "number": r"\p{N}+", "space": r"\s+"}
        classes.update({name: _matches(pattern) for name, pattern in patterns.items()})
        # Letters of contractions, in both cases.
        for code in _matches("(?i:[strevmld])") if kind == "Split" else ():
            letter = chr(code).casefold()
            classes[letter] = classes.get(letter, frozenset()) | {code}


def _model_lines(tokenizer: SubwordVocabulary, model: Mapping[str, Any]) -> Iterator[str]:
    if tokenizer.kind == "unigram":
        for _, score in model["vocab"]:
            yield f"score {score!r}"
        return
    ids = model["vocab"]
    if looks_words_up(model):
        yield f"words {len(ids)} {model.get('max_input_chars_per_word', 0)}"
    if tokenizer.kind == "wordpiece":
        return
    yield f"bytes {' '.join(str(ids[token]) for token in byte_tokens(model))}"
    if model.get("byte_fallback"):
        yield from (f"letter {ord(token):x} {number}" for token, number in ids.items() if len(token) == 1)
    for merge in model["merges"]:
        left, right = merge.split(" ") if isinstance(merge, str) else merge
        yield f"merge {ids[left]} {ids[right]} {ids[left + right]}"


@functools.cache
def _normalization_form(compatible: bool) -> tuple[str, ...]:
    """A normalization form of Unicode (Standard Annex 15); Hangul is composed by a formula, which the copies have."""
    from tokenizers import normalizers

    decomposed = _replacements("NFKD" if compatible else "NFD")
    last = chr(_LAST_MARK)
    moved = normalizers.NFD().normalize_str("\n".join(last + chr(code) for code in _CODES)).split("\n")
    orders = [
        (code, unicodedata.combining(chr(code)))
        for code, text in zip(_CODES, moved, strict=True)
        if not text.startswith(last) and chr(code) not in decomposed
    ]
    pairs = []
    for code in _CODES:
        parts = unicodedata.decomposition(chr(code)).split()
        if len(parts) == 2 and not parts[0].startswith("<"):
            first, second = (chr(int(part, 16)) for part in parts)
            if normalizers.NFC().normalize_str(first + second) == chr(code):
                pairs.append(f"pair {ord(first):x} {ord(second):x} {code:x}")
    marks = [*orders, (_LAST_MARK, unicodedata.combining(last))]
    return (*_maps(decomposed), *(f"order {code:x} {place}" for code, place in marks), *pairs)


@functools.cache
def _replacements(normalizer: str) -> Mapping[str, str]:
    """The characters that a normalizer of `tokenizers` changes, without syllables of Hangul."""
    import tokenizers.normalizers

    normalize: Callable[[str], str] = getattr(tokenizers.normalizers, normalizer)().normalize_str
    texts = normalize("\n".join(map(chr, _CODES))).split("\n")
    pairs = ((chr(code), text) for code, text in zip(_CODES, texts, strict=True) if code not in _SYLLABLES)
    return {character: text for character, text in pairs if text != character}


@functools.cache
def _replacements_of_bert(option: str) -> Mapping[str, str]:
    """The characters that an option of BERT's normalizer changes, without syllables of Hangul."""
    from tokenizers import normalizers

    options = dict.fromkeys(("clean_text", "handle_chinese_chars", "strip_accents", "lowercase"), False)
    normalize = normalizers.BertNormalizer(**{**options, option: True}).normalize_str
    # It changes line ends, so that another character parts those of the probe.
    codes = [code for code in (0xA, 0xD, *_CODES) if code != ord("|") and code not in _SYLLABLES]
    texts = normalize("|".join(map(chr, codes))).split("|")
    return {chr(code): text for code, text in zip(codes, texts, strict=True) if text != chr(code)}


@functools.cache
def _word_characters() -> frozenset[int]:
    """The characters beside which an added token is no single word."""
    from tokenizers import AddedToken, Tokenizer, models

    matcher = Tokenizer(models.WordLevel({"?": 0}, "?"))
    matcher.add_tokens([AddedToken("\ue000", single_word=True, normalized=False)])
    codes = [code for code in _CODES if code != 0xE000]
    encoding = matcher.encode("\n".join(f"{chr(code)}\ue000" for code in codes))
    parted = {start for (start, _), number in zip(encoding.offsets, encoding.ids, strict=True) if number}
    return frozenset(code for place, code in enumerate(codes) if 3 * place + 1 not in parted)


@functools.cache
def _matches(pattern: str) -> frozenset[int]:
    """The characters that match an expression of `tokenizers`."""
    from tokenizers import Regex, pre_tokenizers

    # Line ends are among the characters here.
    text = "".join(chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000)
    splitter = pre_tokenizers.Split(Regex(pattern), "removed", invert=True)
    return frozenset(map(ord, itertools.chain.from_iterable(part for part, _ in splitter.pre_tokenize_str(text))))


@functools.cache
def _white_space() -> frozenset[int]:
    from tokenizers import pre_tokenizers

    text = "".join(chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000)
    rest = itertools.chain.from_iterable(part for part, _ in pre_tokenizers.WhitespaceSplit().pre_tokenize_str(text))
    return frozenset(map(ord, text)) - frozenset(map(ord, rest))


def _maps(replacements: Mapping[str, str]) -> list[str]:
    return [f"map {_key(key)} {_hexadecimal(text)}" for key, text in replacements.items()]


def _key(text: str) -> str:
    return ".".join(f"{ord(character):x}" for character in text)


def _hexadecimal(text: str) -> str:
    return " ".join(f"{ord(character):x}" for character in text)
