"""Small tokenizers of `tokenizers`' own training, as those of RoBERTa, ModernBERT, ALBERT, mmBERT and EuroBERT are."""

import functools
import json
from typing import Any

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from keras_bert.tokenizers.subword_copies import LLAMA_WORDS

TEXTS = (
    "The cow went over the old stone bridge, and nobody saw her go.",
    "Nobody had seen such a bridge before; it was the oldest of them all!",
    "Überall Regen: 雨! Café, naïve — 3.14 cows went by.",
    "old cows, older bridges, the oldest stones",
)
ROBERTA = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
MODERN = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
ALBERT = ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"]
GEMMA = ["<pad>", "<unk>", "<bos>", "<eos>", "<mask>"]
LLAMA = ["<|pad|>", "<|mask|>", "<|begin_of_text|>", "<|end_of_text|>", "<|mask|>"]


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


@functools.cache
def gemma() -> str:
    """BPE of characters with Gemma's special tokens, runs of line ends, and bytes for other characters, as JSON."""
    made = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    made.normalizer = normalizers.Replace(" ", "▁")
    # Its own splits nothing; this one keeps words apart in training.
    made.pre_tokenizer = pre_tokenizers.Split("▁", "merged_with_next")
    special = [*GEMMA, *(f"<0x{number:02X}>" for number in range(256))]
    trainer = trainers.BpeTrainer(vocab_size=400, special_tokens=special, show_progress=False)
    made.train_from_iterator(TEXTS, trainer)
    made.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    made.add_tokens([AddedToken("\n" * width, normalized=False) for width in (1, 2, 3)])
    ids = [(token, made.token_to_id(token)) for token in ("<bos>", "<eos>")]
    made.post_processor = processors.TemplateProcessing(
        single="<bos> $A <eos>", pair="<bos> $A <eos> $B:1 <eos>:1", special_tokens=ids
    )
    content = json.loads(made.to_str())
    # Bytes are tokens of the model alone.
    content["added_tokens"] = [token for token in content["added_tokens"] if not token["content"].startswith("<0x")]
    return json.dumps(content)


@functools.cache
def llama() -> str:
    """Byte-level BPE with the expression and special tokens of Llama 3; words of the vocabulary need no merges."""
    made = Tokenizer(models.BPE(ignore_merges=True))
    of_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    made.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(LLAMA_WORDS), "isolated"), of_bytes])
    made.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    made.train_from_iterator(TEXTS, trainers.BpeTrainer(vocab_size=330, initial_alphabet=alphabet, show_progress=False))
    content = json.loads(made.to_str())
    vocabulary = content["model"]["vocab"]
    # No merges make these of their bytes.
    for word in ("Ġflies", "Ġwaits", "!!!"):
        vocabulary[word] = len(vocabulary)
    made = Tokenizer.from_str(json.dumps(content))
    made.add_special_tokens(["<|begin_of_text|>", "<|end_of_text|>", "<|mask|>", "<|pad|>"])
    ids = [(token, made.token_to_id(token)) for token in LLAMA[2:4]]
    first, last = LLAMA[2:4]
    template = processors.TemplateProcessing(
        single=f"{first} $A {last}", pair=f"{first} $A {last} $B:1 {last}:1", special_tokens=ids
    )
    made.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=True), template])
    return str(made.to_str())


@functools.cache
def added() -> str:
    """BERT's WordPiece with tokens that are matched before a text is split, one for each flag, as JSON."""
    words = sorted({word for text in TEXTS for word in text.lower().replace(",", "").split()})
    letters = sorted({letter for word in words for letter in word})
    tokens = [*MODERN, *letters, *(f"##{letter}" for letter in letters), *words[::2], ".", ",", "##bridge", "雨"]
    vocabulary = {token: number for number, token in enumerate(dict.fromkeys(tokens))}
    made = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(handle_chinese_chars=False)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    ids = [(token, made.token_to_id(token)) for token in ("[CLS]", "[SEP]")]
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=ids
    )
    made.add_special_tokens(MODERN)
    made.add_tokens(["Overs", "film0x", AddedToken("cows", single_word=True)])
    made.add_tokens([AddedToken("<l>", lstrip=True), AddedToken("<R>", rstrip=True, normalized=False)])
    return str(made.to_str())


def content(kind: str) -> dict[str, Any]:
    """The `tokenizer.json` of a kind."""
    kinds = {"bpe": bpe, "modern": modern, "unigram": unigram, "gemma": gemma, "llama": llama, "added": added}
    content: dict[str, Any] = json.loads(kinds[kind]())
    return content
