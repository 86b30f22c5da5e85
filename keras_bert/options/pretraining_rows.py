"""The building of rows for pre-training."""

from typing import Annotated, Literal

import pydantic

from keras_bert.core.validation import OpenShare, Share, validated_dataclass
from keras_bert.options.compression import Compression

PairObjective = Literal["next_sentence", "sentence_order", "none"]


@validated_dataclass
class PretrainingRows:
    """Settings of the rows that documents are cut into for pre-training.

    Attributes:
        objective: the second objective beside masked tokens. `next_sentence`: segment B follows segment A or comes from
            another document (Devlin et al. 2019, section 3.1). `sentence_order`: two neighbouring segments, in order or
            swapped (Lan et al. 2020, section 3.1). `none`: one segment of full sentences, across documents
            (FULL-SENTENCES of Liu et al. 2019, section 4.2).
        short_share: share of the rows that aim at a random shorter length, 0 to 1; 0.1 is `short_seq_prob` of
            google-research/bert.
        short_length: length in tokens, at least 8, of additional short rows to train on first (Devlin et al. 2019,
            appendix A.2: 128, then 512); None writes only rows of `max_length`.
        dynamic: whether the reader masks other tokens in every epoch (Liu et al. 2019, section 4.1); otherwise tokens
            are masked once, when the rows are written.
        duplication: number of times that the training documents are paired and masked (`dupe_factor` of
            google-research/bert).
        held_out: share of the documents of each shard, above 0 and below 1, that goes to validation by the hash of
            their ids. All parts of a long document go to the same side, by the hash of its text.
        compression: compression of the record files.
    """

    objective: PairObjective = "next_sentence"
    short_share: Share = 0.1
    short_length: Annotated[int, pydantic.Field(ge=8)] | None = None
    dynamic: bool = False
    duplication: pydantic.PositiveInt = 1
    held_out: OpenShare = 0.05
    compression: Compression = "none"
