"""Do two models decide for the same reasons? Their answers, attributions and attention, row by row."""

import dataclasses
from collections.abc import Sequence
from typing import get_args

import numpy as np

from keras_bert.checks import check
from keras_bert.compress.students import spread_layers
from keras_bert.explain.attention import Attention, attentions
from keras_bert.explain.attribution import Attribution, Method, attribute
from keras_bert.explain.explained import ExplainedRow
from keras_bert.explain.tokens import Array
from keras_bert.models.encoder import config_of
from keras_bert.tasks.base import Task
from keras_bert.tasks.checks import as_texts, check_same_length, is_keras_model

# With two words a rank correlation is 1 or -1, which says nothing.
_LEAST_WORDS = 3


@dataclasses.dataclass(frozen=True)
class Agreement:
    """How alike two models decide on rows.

    Attributes:
        teacher: the first model's attribution of each row, of the number of its own answer.
        student: the second model's attributions, of the same numbers.
        same_answers: whether both models choose the same label, tag or place, bool (rows,); always True where answers
            are numbers: compare the scores.
        rank_correlations: Spearman's correlation of the shares of the words, float64 (rows,); NaN for rows of fewer
            than 3 words, and where all words of one have the same share.
        layers: the teacher's layer for each of the student's, from 0; None if one of the models is a file.
        attention_distances: the Jensen-Shannon distance of the attention of these layers, the mean over heads, with
            base 2: 0 for the same, 1 for words in common nowhere; float64 (layers,). None if one of the models is a
            file.

    Examples:
        >>> from keras_bert.explain import compare
        >>> agreement = compare(task, task, ["film film film"])
        >>> agreement.same_answers.tolist(), agreement.attention_distances.tolist()
        ([True], [0.0])
    """

    teacher: tuple[Attribution, ...]
    student: tuple[Attribution, ...]
    same_answers: Array
    rank_correlations: Array
    layers: tuple[int, ...] | None
    attention_distances: Array | None

    def most_different(self, count: int = 10) -> list[int]:
        """The rows with the lowest rank correlations, the lowest first; rows without one are left out."""
        order = np.argsort(self.rank_correlations, kind="stable")  # NaN last
        return [int(row) for row in order[:count] if not np.isnan(self.rank_correlations[row])]


def compare(
    teacher: Task,
    student: Task,
    texts: Sequence[str],
    pairs: Sequence[str] | None = None,
    *,
    method: Method = "occlusion",
    layers: Sequence[int] | None = None,
) -> Agreement:
    """Compares the reasons of two models: their attributions of the first model's answer, and their attention.

    Attention is compared between words and special tokens as one, so that the models may have other tokens.

    Args:
        teacher: a task.
        student: the same task with a smaller model, or with an exported file.
        texts: texts, or the first of each pair. Embeddings take the pairs as texts to compare with.
        pairs: the second text of each pair.
        method: see `attributions`; exported files need `occlusion`.
        layers: the teacher's layer, from 0, whose attention each of the student's is compared with; None for
            `spread_layers`. Of no effect on files.

    Raises:
        TypeError: a text is no string.
        ValueError: the tasks differ, there are no texts or not as many pairs, the models split a text into other words,
            there are not as many `layers` as the student has, or no such layer, or a file is to be explained by
            gradients.

    Examples:
        >>> agreement = compare(task, task, ["film film film"])
        >>> [attribution.method for attribution in agreement.student]
        ['occlusion']
    """
    owner = "compare"
    check(owner, "method", method in get_args(Method), f"be one of {get_args(Method)}", method)
    check(owner, "student", student.name == teacher.name, f"be for {teacher.name}, as the teacher", student.name)
    files = [name for name, task in (("teacher", teacher), ("student", student)) if not is_keras_model(task.model)]
    rule = "be occlusion where a model is an exported file, which has no gradients"
    check(owner, "method", method == "occlusion" or not files, rule, f"{method} for the {' and '.join(files)}")
    firsts = as_texts("texts", texts)
    seconds = [None] * len(firsts) if pairs is None else as_texts("pairs", pairs)
    check_same_length("texts", firsts, "pairs", seconds)
    rows = [_compare_row(teacher, student, *texts, method) for texts in zip(firsts, seconds, strict=True)]
    attributions = [both for both, _ in rows]
    compared_layers, distances = None, None
    if not files:
        compared_layers = _paired_layers(teacher, student, layers)
        distances = _attention_distances(teacher, student, compared_layers, firsts, pairs)
    return Agreement(
        tuple(first for first, _ in attributions),
        tuple(second for _, second in attributions),
        np.array([same for _, same in rows]),
        np.array([_rank_correlation(*both) for both in attributions]),
        compared_layers,
        distances,
    )


def _compare_row(
    teacher: Task, student: Task, text: str, pair: str | None, method: Method
) -> tuple[tuple[Attribution, Attribution], bool]:
    compared = teacher.second_text == "compared"
    choice, second = (pair, None) if compared else (None, pair)
    first = ExplainedRow.of(teacher, text, choice, second)
    answer = ExplainedRow.of(student, text, choice, second)
    if first.tokens.word_texts != answer.tokens.word_texts:
        words = f"{len(first.tokens.word_texts)} and {len(answer.tokens.word_texts)} words"
        raise ValueError(f"compare.texts must be split into the same words by both models, got {words} of {text!r}")
    same = first.target.name == answer.target.name
    other = answer if same else ExplainedRow.of(student, text, first.target.choice, second)
    return (attribute(teacher, first, method), attribute(student, other, method)), same


def _rank_correlation(first: Attribution, second: Attribution) -> float:
    from scipy import stats

    shares = first.by_word(), second.by_word()
    if len(shares[0]) < _LEAST_WORDS or any(np.ptp(share) == 0 for share in shares):
        return float("nan")
    return float(stats.spearmanr(*shares).statistic)


def _paired_layers(teacher: Task, student: Task, layers: Sequence[int] | None) -> tuple[int, ...]:
    """The teacher's layer for each of the student's."""
    teacher_layers, student_layers = (config_of(task.model).num_layers for task in (teacher, student))
    if layers is None:
        return spread_layers(teacher_layers, student_layers)
    fits = len(layers) == student_layers and all(0 <= layer < teacher_layers for layer in layers)
    rule = f"be {student_layers} of the teacher's layers 0 to {teacher_layers - 1}"
    check("compare", "layers", fits, rule, list(layers))
    return tuple(layers)


def _attention_distances(
    teacher: Task, student: Task, layers: Sequence[int], texts: Sequence[str], pairs: Sequence[str] | None
) -> Array:
    """The mean distances of the attention of paired layers over all words of all texts."""
    total, count = np.zeros(len(layers)), 0
    for one, other in zip(attentions(teacher, texts, pairs), attentions(student, texts, pairs), strict=True):
        first, second = _distributions(one)[list(layers)], _distributions(other)
        total, count = total + _distances(first, second).sum(axis=-1), count + first.shape[1]
    return total / max(count, 1)


def _distributions(attention: Attention) -> Array:
    """The attention of words to words, and to special tokens as one, mean over heads: (layers, words, words + 1)."""
    words = attention.by_word().mean(axis=1, dtype="float64")
    return np.concatenate([words, np.maximum(1 - words.sum(axis=-1, keepdims=True), 0)], axis=-1)


def _distances(first: Array, second: Array) -> Array:
    """Jensen-Shannon distances (...,) of distributions (..., keys)."""
    from scipy.spatial.distance import jensenshannon

    return np.nan_to_num(jensenshannon(first, second, base=2, axis=-1))  # NaN: rounding below 0
