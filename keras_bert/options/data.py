"""The records, vocabularies, prompts and vectors that nearly all steps read."""

from typing import Annotated, Literal

import pydantic

from keras_bert.core.validation import validated_dataclass

Compression = Literal["none", "gzip"]


VocabularyKind = Literal["wordpiece", "bpe", "unigram"]

# Whether text is lowercased; its accents are removed then, unless they are kept.
Lowercasing = bool | Literal["keep_accents"]

# The names of the models of the library `tokenizers` -> the kinds of vocabularies.
MODELS: dict[str, VocabularyKind] = {"BPE": "bpe", "Unigram": "unigram", "WordPiece": "wordpiece"}

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

# The poolings of an embedding, by their names in sentence-transformers; of several, joined by "+", the vectors stand
# side by side.
VECTOR_POOLINGS = ("cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken")


@validated_dataclass
class Projection:
    """A dense layer behind the pooling of an embedding, as in LaBSE.

    Attributes:
        units: the width of its outputs.
        activation: of its outputs.
        use_bias: whether it adds a bias.
    """

    units: Annotated[int, pydantic.Field(ge=1)]
    activation: Literal["none", "tanh", "relu", "gelu_erf"] = "tanh"
    use_bias: bool = True


SimilarityFunction = Literal["cosine", "dot", "euclidean", "manhattan"]
ScoreActivation = Literal["none", "sigmoid"]
