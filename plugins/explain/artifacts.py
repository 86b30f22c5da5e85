"""The artifact of an explained job: how models decide beside their teacher, what heads look at and layers know."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from components.dsl.artifact import RecordArtifact


class ModelAgreement(NamedTuple):
    """How alike a model and its teacher decide, see `plugins.explain.compare`.

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
    """The attention heads of a model, see `plugins.explain.head_statistics` and `leave_one_head_out`.

    Attributes:
        kinds: the kind of each head, by the tokens that it looks at (layers, heads).
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
    """Dependency trees in the states of each layer: the shares of edges that are found, the embeddings first.

    See `plugins.explain.structural_probes`. The score of edges between neighbours needs no model.
    """

    attachment_scores: Sequence[float]
    chain_attachment_score: float


class ProbeReport(NamedTuple):
    """Tags of words in the states of each layer, see `plugins.explain.probes`; the embeddings are the first layer.

    Attributes:
        selectivities: the accuracy less that of the control task (layers + 1,).
        mix_accuracy: the accuracy of the probe on the learned mean of all layers.
        center_of_gravity: the mean layer of that mean.
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
