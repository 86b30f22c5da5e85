"""Measurements of files, steps, scores and search spaces: each artifact holds one JSON file that `read` opens typed."""

from collections.abc import Mapping, Sequence
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


class ModelAgreement(NamedTuple):
    """How alike a model and its teacher decide, see `keras_bert.explain.compare`.

    Attributes:
        same_answers: the share of the compared rows with the teacher's answer; None where answers are numbers.
        rank_correlation: the median over rows of Spearman's correlation of the words' shares; None if no row has
            enough words.
        layers: the teacher's layer for each of the model's; None for a file.
        attention_distances: the distance of these layers' attention, 0 to 1; None for a file.
        different: the rows whose words are ranked most differently: `text`, `second_text`, `target`, the `words` that
            both read, and their shares in `teacher` and `model`.
        left_out: each reason why rows cannot be explained and are left out, with their number.
    """

    model: str
    same_answers: float | None
    rank_correlation: float | None
    compared: int
    layers: Sequence[int] | None
    attention_distances: Sequence[float] | None
    different: Sequence[Mapping[str, Any]]
    left_out: Mapping[str, int]


class HeadReport(NamedTuple):
    """The attention heads of a model, see `keras_bert.explain.head_statistics` and `leave_one_head_out`.

    Attributes:
        kinds: the kind of each head, by the tokens that it looks at (layers, heads).
        entropies: the entropy of each head in nats (layers, heads).
        loss_rises: the rise of the loss without each head (layers, heads); below 0 where the loss falls.
        importances: the estimated change of the loss without each head, from its gradients (layers, heads); None for
            encoders without BERT's graph.
        positions: each head as a point in the plane, close to heads that look at the same tokens (layers x heads, 2).
    """

    model: str
    kinds: Sequence[Sequence[str]]
    entropies: Sequence[Sequence[float]]
    loss_rises: Sequence[Sequence[float]]
    importances: Sequence[Sequence[float]] | None
    positions: Sequence[Sequence[float]]


class TreeProbeReport(NamedTuple):
    """Dependency trees in the states of each layer, see `keras_bert.explain.structural_probe`.

    Attributes:
        attachment_scores: the share of the edges that are found (layers + 1,), the embeddings first.
        chain_attachment_score: the share of the edges between neighbours, which needs no model.
    """

    attachment_scores: Sequence[float]
    chain_attachment_score: float


class ProbeReport(NamedTuple):
    """Tags of words in the states of each layer, see `keras_bert.explain.probe`; the embeddings are the first layer.

    Attributes:
        accuracies: the accuracy of each layer's probe (layers + 1,).
        selectivities: the accuracy less that of the control task (layers + 1,).
        majority_accuracy: the accuracy of the most frequent tag.
        mix_accuracy: the accuracy of the probe on the learned mean of all layers.
        center_of_gravity: the mean layer of that mean.
        trees: the structural probe; None for sentences without trees.
    """

    model: str
    train_words: int
    test_words: int
    tags: int
    accuracies: Sequence[float]
    selectivities: Sequence[float]
    majority_accuracy: float
    mix_accuracy: float
    center_of_gravity: float
    trees: TreeProbeReport | None


class ExplanationReport(NamedTuple):
    """The reasons of a job's models on validation rows."""

    rows: int
    agreements: Sequence[ModelAgreement]
    heads: Sequence[HeadReport]
    probes: Sequence[ProbeReport] = ()


class Explanation(RecordArtifact[ExplanationReport]):
    """`explanation.json`: how each model decides beside its teacher, what its heads look at and its layers know."""

    record_file = "explanation.json"
