"""Learns vocabularies of byte-level BPE and unigram from texts, with the trainers of Hugging Face's `tokenizers`."""

import contextlib
import json
import os
from collections.abc import Iterable, Iterator
from typing import Any

from keras_bert.core.checks import check
from keras_bert.options.data import VocabularyKind
from keras_bert.tokenizers.subwords import SubwordTokenizer

_THREADS = "TOKENIZERS_PARALLELISM"
# RoBERTa's order, in which padding is 1 and positions begin at 2 (Liu et al. 2019, fairseq's dictionary).
_BPE_SPECIAL = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
# ALBERT's names in ALBERT's order (Lan et al. 2020, released vocabularies).
_UNIGRAM_SPECIAL = ("<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]")


def learn_subwords(texts: Iterable[str], kind: VocabularyKind, size: int, *, lowercase: bool) -> SubwordTokenizer:
    """Learns a tokenizer with exactly `size` tokens, special tokens included, from texts that are read once.

    The same texts give the same tokens of BPE (Sennrich et al. 2016, on bytes as in Radford et al. 2019). For unigram
    (Kudo 2018) this holds unless scores are equal, as many are in a few kilobytes of text: among such tokens the
    trainer chooses at random.
    """
    check("learn_subwords", "kind", kind in ("bpe", "unigram"), "be 'bpe' or 'unigram'", kind)
    with _one_thread():
        content = json.loads((_learn_bpe if kind == "bpe" else _learn_unigram)(texts, size, lowercase))
    if kind == "unigram":
        # The trainer's last digits and order of equal scores are random.
        model = content["model"]
        special = set(_UNIGRAM_SPECIAL)
        learnt = [(token, round(score, 4)) for token, score in model["vocab"] if token not in special]
        fixed = [entry for entry in model["vocab"] if entry[0] in special]
        model["vocab"] = [*fixed, *sorted(learnt, key=lambda entry: (-entry[1], entry[0]))]
    tokenizer = SubwordTokenizer(content)
    if tokenizer.vocabulary_size != size:
        bound = "most" if tokenizer.vocabulary_size < size else "least"
        raise ValueError(f"size must be at {bound} {tokenizer.vocabulary_size} for these texts, got {size}")
    return tokenizer


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    """Limits the trainers to one thread: several threads add floats in any order."""
    before = os.environ.get(_THREADS)
    os.environ[_THREADS] = "false"
    try:
        yield
    finally:
        del os.environ[_THREADS]
        if before is not None:
            os.environ[_THREADS] = before


def _learn_bpe(texts: Iterable[str], size: int, lowercase: bool) -> str:
    from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

    tokenizer = Tokenizer(models.BPE())
    if lowercase:
        tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    # The mask token includes the space in front of it.
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=[*_BPE_SPECIAL[:-1], AddedToken(_BPE_SPECIAL[-1], lstrip=True, special=True)],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    # RoBERTa's rows and offsets, but the second text of a pair has a segment of its own, which RoBERTa has not.
    marks = [_numbered(tokenizer, token) for token in ("<s>", "</s>")]
    rows = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B:1 </s>:1", special_tokens=marks
    )
    tokenizer.post_processor = processors.Sequence(
        [processors.ByteLevel(trim_offsets=True, add_prefix_space=False), rows]
    )
    return str(tokenizer.to_str())


def _learn_unigram(texts: Iterable[str], size: int, lowercase: bool) -> str:
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), *([normalizers.Lowercase()] if lowercase else [])])
    # `Metaspace` alone splits words at spaces only, and leaves line ends and tabs inside tokens.
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    tokenizer.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=size, special_tokens=list(_UNIGRAM_SPECIAL), unk_token=_UNIGRAM_SPECIAL[1], show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    marks = [_numbered(tokenizer, token) for token in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=marks
    )
    return str(tokenizer.to_str())


def _numbered(tokenizer: Any, token: str) -> tuple[str, int]:
    """A special token with its id."""
    return token, tokenizer.token_to_id(token)
