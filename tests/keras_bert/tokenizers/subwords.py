"""Small tokenizers of `tokenizers`' own training, as those of RoBERTa, ModernBERT and ALBERT are."""

import functools
import json
from typing import Any

from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

TEXTS = (
    "The cow went over the old stone bridge, and nobody saw her go.",
    "Nobody had seen such a bridge before; it was the oldest of them all!",
    "Überall Regen: 雨! Café, naïve — 3.14 cows went by.",
    "old cows, older bridges, the oldest stones",
)
ROBERTA = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
MODERN = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
ALBERT = ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"]


@functools.cache
def bpe(size: int = 330) -> str:
    """Byte-level BPE with RoBERTa's special tokens, as JSON."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    special = [*ROBERTA[:-1], AddedToken("<mask>", lstrip=True, special=True)]
    trainer = trainers.BpeTrainer(
        vocab_size=size, special_tokens=special, initial_alphabet=sorted(alphabet), show_progress=False
    )
    made.train_from_iterator(TEXTS, trainer)
    ids = [(token, made.token_to_id(token)) for token in ("</s>", "<s>")]
    made.post_processor = processors.RobertaProcessing(*ids, trim_offsets=True, add_prefix_space=False)
    return str(made.to_str())


@functools.cache
def modern(size: int = 330) -> str:
    """Byte-level BPE with BERT's special tokens and runs of spaces, as ModernBERT's, as JSON."""
    made = Tokenizer(models.BPE())
    made.normalizer = normalizers.NFC()
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(vocab_size=size, initial_alphabet=alphabet, show_progress=False)
    made.train_from_iterator(TEXTS, trainer)
    made.add_tokens([AddedToken(" " * width, normalized=True) for width in (3, 2)])
    made.add_special_tokens([*MODERN[:-1], AddedToken("[MASK]", lstrip=True, special=True)])
    ids = [(token, made.token_to_id(token)) for token in ("[CLS]", "[SEP]")]
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=ids
    )
    return str(made.to_str())


@functools.cache
def unigram(size: int = 80) -> str:
    """Unigram with ALBERT's special tokens, as JSON."""
    made = Tokenizer(models.Unigram())
    made.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()])
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    made.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=size, special_tokens=ALBERT, unk_token="<unk>", show_progress=False)
    made.train_from_iterator(TEXTS, trainer)
    ids = [(token, made.token_to_id(token)) for token in ("[CLS]", "[SEP]")]
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=ids
    )
    return str(made.to_str())


def content(kind: str) -> dict[str, Any]:
    """The `tokenizer.json` of a kind."""
    content: dict[str, Any] = json.loads({"bpe": bpe, "modern": modern, "unigram": unigram}[kind]())
    return content
