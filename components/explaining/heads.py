"""What the attention heads of a model look at, and how much its loss needs them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from components.artifacts.measurements import HeadReport

# The rows are read once for each head: of 72 heads, 128 rows take as long as 9,000.
_ABLATION_BATCHES = 2

if TYPE_CHECKING:
    from keras_bert.objectives.base import Batch
    from keras_bert.tasks.base import Task


def describe_heads(
    name: str, task: "Task", texts: Sequence[str], seconds: Sequence[str] | None, batches: "Sequence[Batch]"
) -> HeadReport:
    """Statistics of the heads of a model, and its loss without each of them.

    `batches` are labelled rows for the loss; the first ones alone are read without each head.
    """
    import numpy as np

    from keras_bert.compress.importance import measure_importance
    from keras_bert.explain import head_statistics, leave_one_head_out
    from keras_bert.models.encoder import config_of
    from keras_bert.options.compression import may_lose_parts

    pairs = None if task.second_text == "compared" else seconds
    statistics = head_statistics(task, texts, pairs)
    assert statistics.positions is not None
    network, importance = task.network(), None
    if may_lose_parts(config_of(network)):
        importance = [block.heads.round(6).tolist() for block in measure_importance(network, task.objective(), batches)]
    ablation = leave_one_head_out(task, batches[:_ABLATION_BATCHES])
    return HeadReport(
        name,
        statistics.kind.tolist(),
        statistics.entropy.round(4).tolist(),
        np.round(-ablation.drops, 6).tolist(),
        importance,
        statistics.positions.round(4).tolist(),
    )
