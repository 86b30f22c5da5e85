"""The records, vocabularies, prompts and vectors that nearly all steps read."""

from typing import Literal

from keras_bert.core.validation import validated_dataclass

Compression = Literal["none", "gzip"]


VocabularyKind = Literal["wordpiece", "bpe", "unigram"]

# Whether text is lowercased; its accents are removed then, unless they are kept.
Lowercasing = bool | Literal["keep_accents"]

# The names of the models of the library `tokenizers` -> the kinds of vocabularies that it trains.
MODELS: dict[str, VocabularyKind] = {"BPE": "bpe", "Unigram": "unigram"}

# The keys of special tokens in `tokenizer_config.json`: of padding, unknown text, the start of a row, the end of a
# text, and masked tokens.
TOKEN_KEYS = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")

# The key of the special tokens, by their keys, that the settings beside a `tokenizer.json` name. The library
# `tokenizers` refuses it: a file has it only where its other content does not tell which tokens these are.
NAMED_TOKENS = "named_tokens"


@validated_dataclass
class Prompts:
    """Texts in front of queries and of passages, as E5 was trained with them (Wang et al. 2022, section 4.3).

    Attributes:
        query: in front of each query; E5: "query: ".
        passage: in front of each passage; E5: "passage: ".
    """

    query: str = ""
    passage: str = ""


Pooling = Literal["cls", "mean"]
SimilarityFunction = Literal["cosine", "dot", "euclidean", "manhattan"]
