"""Artifacts of a search: the teacher's search space, the cost of a training, and scores on validation rows."""

from collections.abc import Sequence
from typing import NamedTuple

from components.dsl.artifact import Artifact, RecordArtifact, as_plain
from keras_bert.core.config import EncoderConfig


class VocabularySize(NamedTuple):
    """A vocabulary that a student may have: its entries, and the share of validation tokens that stand in it."""

    size: int
    kept_share: float


class SearchBounds(NamedTuple):
    """The largest student of a search; the teacher's vocabulary, then smaller ones, the larger first."""

    config: EncoderConfig
    max_length: int
    has_prunable_blocks: bool
    vocabularies: Sequence[VocabularySize]


class SearchSpace(Artifact):
    """`search_space.json`: the teacher's encoder, and the vocabularies that its rows need, see `SearchBounds`."""

    def write(self, bounds: SearchBounds) -> None:
        """Writes the bounds."""
        self.write_json("search_space.json", as_plain(bounds._replace(config=bounds.config.as_dict())))  # type: ignore[arg-type]

    def read(self) -> SearchBounds:
        """The bounds."""
        content = self.read_json("search_space.json")
        vocabularies = [VocabularySize(**vocabulary) for vocabulary in content["vocabularies"]]
        config = EncoderConfig.from_dict(content["config"])
        return SearchBounds(**{**content, "config": config, "vocabularies": vocabularies})


class TrainingTimes(NamedTuple):
    """The time of a training on labelled rows."""

    step: float
    steps: int
    rows: dict[str, int]


class TrainingCost(RecordArtifact[TrainingTimes]):
    """`training_cost.json`: {"step": seconds, "steps": timed, "rows": {"train": ..., ...}}."""

    record_file = "training_cost.json"


class ValidationScore(NamedTuple):
    """The score of a model on validation rows: a share of a metric, and the number of rows."""

    metric: str
    score: float
    rows: int


class Validation(RecordArtifact[ValidationScore]):
    """`validation.json`: {"metric": ..., "score": ..., "rows": ...}; decides before test rows are read."""

    record_file = "validation.json"
