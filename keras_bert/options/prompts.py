"""Prompts: what a model expects in front of queries and of passages."""

from keras_bert.core.validation import validated_dataclass


@validated_dataclass
class Prompts:
    """Texts in front of queries and of passages, as E5 was trained with them (Wang et al. 2022, section 4.3).

    Attributes:
        query: in front of each query; E5: "query: ".
        passage: in front of each passage; E5: "passage: ".
    """

    query: str = ""
    passage: str = ""
