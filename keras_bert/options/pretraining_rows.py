"""How rows to pre-train on are made."""

import dataclasses
from typing import Literal, get_args

from keras_bert.checks import check
from keras_bert.options.compression import Compression

PairObjective = Literal["next_sentence", "sentence_order", "none"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class PretrainingRows:
    """How the rows for pre-training are made of documents.

    Attributes:
        objective: what a row is, besides text with hidden tokens. `next_sentence`: A, and B that follows it or comes
            from another document (Devlin et al. 2019, section 3.1). `sentence_order`: two neighbouring stretches, in
            order or swapped (Lan et al. 2020, section 3.1). `none`: one stretch of full sentences, across documents
            (FULL-SENTENCES of Liu et al. 2019, section 4.2).
        short_share: share of the rows that aim at a random shorter length; 0.1 is `short_seq_prob` of
            google-research/bert.
        short_length: with rows of `max_length`, also write rows of this many tokens, to train on first (Devlin et al.
            2019, appendix A.2: 128, then 512); None writes one length.
        dynamic: leave the rows as they are, and let the reader hide other tokens each epoch (Liu et al. 2019,
            section 4.1); otherwise tokens are hidden once.
        duplication: how often the training documents are paired and masked anew (`dupe_factor` of
            google-research/bert).
        held_out: share of each shard's documents, by the hash of their ids, that goes to validation. The parts of a
            document that was cut go there all or none, by the hash of its text.
        compression: of the record files.
    """

    objective: PairObjective = "next_sentence"
    short_share: float = 0.1
    short_length: int | None = None
    dynamic: bool = False
    duplication: int = 1
    held_out: float = 0.05
    compression: Compression = "none"

    def __post_init__(self) -> None:
        owner = "PretrainingRows"
        for field, choices in (("objective", PairObjective), ("compression", Compression)):
            known = get_args(choices)
            check(owner, field, getattr(self, field) in known, f"be one of {known}", getattr(self, field))
        check(owner, "short_share", 0 <= self.short_share <= 1, "be between 0 and 1", self.short_share)
        if self.short_length is not None:
            check(owner, "short_length", self.short_length >= 8, "be at least 8", self.short_length)
        check(owner, "duplication", self.duplication >= 1, "be at least 1", self.duplication)
        check(owner, "held_out", 0 < self.held_out < 1, "be in (0, 1)", self.held_out)
