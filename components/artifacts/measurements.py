"""Measurements of files, steps, scores and search spaces: each artifact holds one JSON file that `read` opens typed."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from components.dsl.artifact import Artifact, RecordArtifact, as_plain
from keras_bert.core.config import EncoderConfig


class FileFootprint(NamedTuple):
    """The size and the speed of an exported file.

    Attributes:
        milliseconds: tokens of a full row, as text -> the time of one answer on one thread.
    """

    bytes: int
    milliseconds: dict[str, float]


class Latency(RecordArtifact[dict[str, FileFootprint]]):
    """`latency.json`: file -> {"bytes": ..., "milliseconds": {"32": ..., "128": ...}}, on one thread, by tokens."""

    record_file = "latency.json"


class LengthCost(NamedTuple):
    """The cost of a pre-training step on rows of one length: operations, and seconds, None if it was not timed."""

    length: int
    flops: int
    seconds: float | None = None


class PretrainingStepCosts(NamedTuple):
    """The cost of a pre-training step.

    Attributes:
        bytes_an_entry: the mean bytes of the tokens that are predicted in validation: by them, losses of several
            vocabularies can be given in one unit.
    """

    lengths: Sequence[LengthCost]
    bytes_an_entry: float


class StepCost(RecordArtifact[PretrainingStepCosts]):
    """`cost.json`: {"lengths": [{"length": 64, "flops": ..., "seconds": ...}, ...], "bytes_an_entry": ...}."""

    record_file = "cost.json"


class TrainingTimes(NamedTuple):
    """The time of a training on labelled rows.

    Attributes:
        step: seconds of a steady step.
        begin: seconds before steady steps: reading, building and compiling.
    """

    step: float
    steps: int
    begin: float
    rows: dict[str, int]


class TrainingCost(RecordArtifact[TrainingTimes]):
    """`training_cost.json`: {"step": seconds, "steps": timed, "begin": seconds, "rows": {"train": ..., ...}}."""

    record_file = "training_cost.json"


class VocabularySize(NamedTuple):
    """A vocabulary that a student may have: its entries, and the share of validation tokens that stand in it."""

    size: int
    kept_share: float


class SearchBounds(NamedTuple):
    """The largest student of a search.

    Attributes:
        max_length: tokens of the teacher's longest row.
        has_prunable_blocks: whether blocks may lose heads and feed-forward units.
        vocabularies: the teacher's vocabulary, then smaller ones, the larger first.
    """

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


class ValidationScore(NamedTuple):
    """The score of a model on validation rows: a share of a metric, and the number of rows."""

    metric: str
    score: float
    rows: int


class Validation(RecordArtifact[ValidationScore]):
    """`validation.json`: {"metric": ..., "score": ..., "rows": ...}; decides before test rows are read."""

    record_file = "validation.json"


class DiagnosisReport(NamedTuple):
    """The effect of quantization on a float model, layer by layer.

    Attributes:
        score: {"float": ..., "quantized": ...}: the score before and after.
        milliseconds: {"float": ..., "quantized": ...}: the time of one answer before and after.
        distance: how far all outputs of the quantized model lie from those of the float model.
        layers: for each layer the gain if it stays float, the largest gain first.
        fix: the fewest layers that must stay float for an allowed loss; None if no allowed loss was given.
    """

    recipe: str
    metric: str
    rows: int
    score: dict[str, float]
    milliseconds: dict[str, float]
    distance: float
    layers: list[dict[str, Any]]
    fix: dict[str, Any] | None


class Diagnosis(RecordArtifact[DiagnosisReport]):
    """`diagnosis.json`: the recipe, scores before and after, a record a layer, and which layers to leave float."""

    record_file = "diagnosis.json"
