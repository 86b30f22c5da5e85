"""The agreement of a model with its teacher, as the report has it."""

from collections import Counter
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
    different = []
    for place in agreement.most_different(_LISTED):
        row, teacher, model = int(agreement.rows[place]), agreement.teacher[place], agreement.student[place]
        words, model_words = teacher.row.common_words(model.row)
        content: dict[str, Any] = {
            "text": texts[row],
            "second_text": None if seconds is None else seconds[row],
            "target": teacher.target,
            "words": [teacher.row.word_texts[word] for word in words],
            "teacher": teacher.by_word()[words].round(4).tolist(),
            "model": model.by_word()[model_words].round(4).tolist(),
        }
        different.append(content)
    return ModelAgreement(
        name,
        float(agreement.same_answers.mean()),
        float(np.median(correlations)) if len(correlations) else None,
        len(correlations),
        agreement.layers,
        None if distances is None else distances.round(4).tolist(),
        different,
        dict(Counter(agreement.left_out.values())),
    )
