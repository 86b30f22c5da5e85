"""Do two models decide for the same reasons? Their answers, attributions and attention, row by row."""

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple, get_args

import numpy as np

from keras_bert.compress.students import spread_layers
from keras_bert.core.checks import check
from keras_bert.models.encoder import config_of
from keras_bert.tasks.base import Task
from keras_bert.tasks.checks import as_texts, check_same_length, is_keras_model
from keras_bert.tasks.targets import UnexplainedRowError
from plugins.explain.attention import Attention, attend
from plugins.explain.attribution import Attribution, Method, attribute
from plugins.explain.explained import ExplainedRow
from plugins.explain.tokens import Array

# With two words a rank correlation is 1 or -1, which says nothing.
_LEAST_WORDS = 3


@dataclasses.dataclass(frozen=True)
class Agreement:
    """How alike two models decide on rows; rows that cannot be explained are left out.

    Attributes:
        rows: the index among the texts of each row that is compared, int (rows,).
        teacher: the first model's attribution of each row, of the number of its own answer.
        student: the second model's attributions, of the same numbers.
        same_answers: whether both models choose the same label, tag of a word, or start and end of an answer, bool
            (rows,); None where answers are numbers: compare the scores.
        rank_correlations: Spearman's correlation of the shares of the words that both models read, float64 (rows,); NaN
            for rows of fewer than 3 such words, and where all words of one have the same share.
        layers: the teacher's layer for each of the student's, from 0; None if one of the models is a file.
        attention_distances: the Jensen-Shannon distance of the attention of these layers, the mean over heads, with
            base 2: 0 for the same, 1 for words in common nowhere; float64 (layers,). None if one of the models is a
            file.

    Examples:
        >>> from plugins.explain import compare
        >>> agreement = compare(task, task, ["film film film"])
        >>> agreement.same_answers.tolist(), agreement.attention_distances.tolist()
        ([True], [0.0])
    """

    rows: Array
    teacher: tuple[Attribution, ...]
    student: tuple[Attribution, ...]
    same_answers: Array | None
    rank_correlations: Array
    layers: tuple[int, ...] | None
    attention_distances: Array | None
    left_out: dict[int, str]

    def most_different(self, count: int = 10) -> list[int]:
        """The places in `rows` of the lowest rank correlations, the lowest first; rows without one are left out."""
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

    Both models explain one number, that of the teacher's answer. Words are those that start at the same place of a
    text, so that the models may have other tokens, and read texts to another length. Attention is compared between
    these words, and to all other tokens as one. A row that cannot be explained by both is left out, as one without
    words where tags are explained, or whose word with the explained tag the student does not read.

    Args:
        teacher: a task.
        student: the same task with a smaller model, or with an exported file.
        texts: texts, or the first of each pair. Embeddings take the pairs as texts to compare with.
        pairs: the second text of each pair.
        method: see `attributions`; exported files need `occlusion`.
        layers: the teacher's layer, from 0, whose attention each of the student's is compared with; None for
            `spread_layers`. Of no effect on files.

    Raises:
        ValueError: the tasks differ or are not fine-tuned, there are no texts or not as many pairs, no row can be
            explained, there are not as many `layers` as the student has, or no such layer, or a file is to be explained
            by gradients.

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
    compared_layers = None if files else _paired_layers(teacher, student, layers)
    compared, left_out = {}, {}
    for number, row in enumerate(zip(firsts, seconds, strict=True)):
        try:
            compared[number] = _RowPair.of(teacher, student, *row)
        except UnexplainedRowError as error:
            left_out[number] = str(error)
    rule = f"hold a row that both models can explain; {next(iter(left_out.values()), '')}"
    check(owner, "texts", bool(compared), rule, f"none of {len(left_out)}")
    row_pairs = list(compared.values())
    has_choices = bool(teacher.labels) or row_pairs[0].first.answer is not None
    attributions = [row_pair.explain(teacher, student, method) for row_pair in row_pairs]
    return Agreement(
        np.array(list(compared)),
        tuple(first for first, _ in attributions),
        tuple(second for _, second in attributions),
        np.array([row_pair.same_answer for row_pair in row_pairs]) if has_choices else None,
        np.array([_rank_correlation(*both) for both in attributions]),
        compared_layers,
        None if compared_layers is None else _attention_distances(teacher, student, compared_layers, row_pairs),
        left_out,
    )


class _RowPair(NamedTuple):
    """A row of both models with the number of the teacher's answer, and whether the student's answer is the same."""

    first: ExplainedRow
    second: ExplainedRow
    same_answer: bool

    @classmethod
    def of(cls, teacher: Task, student: Task, text: str, pair: str | None) -> "_RowPair":
        choice, second = (pair, None) if teacher.second_text == "compared" else (None, pair)
        first = ExplainedRow.of(teacher, text, choice, second)
        answer = ExplainedRow.of(student, text, choice, second)
        if first.answer is not None:
            is_same = first.answer == answer.answer
        else:
            is_same = first.choice_among(answer.tokens) == answer.target.choice
        return cls(first, first.for_task(student), is_same)

    def explain(self, teacher: Task, student: Task, method: Method) -> tuple[Attribution, Attribution]:
        return attribute(teacher, self.first, method), attribute(student, self.second, method)


def _rank_correlation(first: Attribution, second: Attribution) -> float:
    from scipy import stats

    words = first.row.common_words(second.row)
    shares = first.by_word()[words[0]], second.by_word()[words[1]]
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


def _attention_distances(teacher: Task, student: Task, layers: Sequence[int], rows: Sequence[_RowPair]) -> Array:
    """The mean Jensen-Shannon distances of the attention of paired layers over all words of all rows."""
    from scipy.spatial.distance import jensenshannon

    total, count = np.zeros(len(layers)), 0
    firsts = attend(teacher, ((row.first.tokens, row.first.features) for row in rows))
    seconds = attend(student, ((row.second.tokens, row.second.features) for row in rows))
    for one, other in zip(firsts, seconds, strict=True):
        words = one.row.common_words(other.row)
        first, second = _distributions(one, words[0])[list(layers)], _distributions(other, words[1])
        distances = np.nan_to_num(jensenshannon(first, second, base=2, axis=-1))  # NaN: rounding below 0
        total, count = total + distances.sum(axis=-1), count + first.shape[1]
    return total / max(count, 1)


def _distributions(attention: Attention, words: Array) -> Array:
    """The attention of words to words, and to all other tokens as one, mean over heads: (layers, words, words + 1)."""
    shares = attention.by_word().mean(axis=1, dtype="float64")[:, words][:, :, words]
    return np.concatenate([shares, np.maximum(1 - shares.sum(axis=-1, keepdims=True), 0)], axis=-1)
