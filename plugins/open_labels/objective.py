"""The objective of the task `open_labels`: vectors of texts with the same label near each other."""

import dataclasses
from collections.abc import Sequence

from keras_bert.core.tensors import Tensor
from keras_bert.objectives.base import Batch
from keras_bert.objectives.class_weights import check_weights, row_weights
from keras_bert.objectives.retrieval import RetrievalObjective


@dataclasses.dataclass(frozen=True)
class LabelPairObjective(RetrievalObjective):
    """A `RetrievalObjective` whose groups are labels: other texts of a row's label are not its negatives.

    Attributes:
        class_weights: the weight of each label; None for 1.
    """

    class_weights: Sequence[float] | None = None

    def __post_init__(self) -> None:
        check_weights(type(self).__name__, self.class_weights)

    def loss_weights(self, batch: Batch) -> Tensor:
        return row_weights(batch["passage_group"], self.class_weights)
