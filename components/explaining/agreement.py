"""The agreement of a model with its teacher, as the report has it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from components.artifacts.measurements import ModelAgreement

if TYPE_CHECKING:
    from keras_bert.explain import Agreement

# Rows of each model whose words are listed.
_LISTED = 5


def describe_agreement(
    name: str, agreement: "Agreement", texts: Sequence[str], seconds: Sequence[str] | None
) -> ModelAgreement:
    """The figures of an agreement, and the rows whose words are ranked most differently."""
    import numpy as np

    correlations = agreement.rank_correlations[~np.isnan(agreement.rank_correlations)]
    distances = agreement.attention_distances
    different: list[dict[str, Any]] = [
        {
            "text": texts[row],
            "second_text": None if seconds is None else seconds[row],
            "target": agreement.teacher[row].target,
            "words": list(agreement.teacher[row].row.word_texts),
            "teacher": agreement.teacher[row].by_word().round(4).tolist(),
            "model": agreement.student[row].by_word().round(4).tolist(),
        }
        for row in agreement.most_different(_LISTED)
    ]
    return ModelAgreement(
        name,
        float(agreement.same_answers.mean()),
        float(np.median(correlations)) if len(correlations) else None,
        len(correlations),
        agreement.layers,
        None if distances is None else distances.round(4).tolist(),
        different,
    )
