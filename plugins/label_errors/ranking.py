"""Rows whose labels are likely wrong: confident learning over decisions, put together to rows."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from plugins.label_errors.artifacts import LabelDecisions, LabelPair
from plugins.label_errors.search import LabelScore

# Pairs of labels that a report lists.
_MOST_PAIRS = 20


class RowJudgement(NamedTuple):
    """The lowest score of the labels of a row, 0 to 1; None for a row that no model could judge.

    `suggested`: place in the row -> the number of the class that is more likely right; empty for a right row.
    """

    row: int
    score: float | None
    suggested: Mapping[int, int]


def rank_rows(decisions: LabelDecisions, rows: int, score: LabelScore, *, by_label: bool) -> list[RowJudgement]:
    """The judgements of all rows: those with likely wrong labels first, and of either the lowest score.

    With `by_label` each label is a classification by itself, see `TaskScoring.decides_by_label`.
    """
    import numpy as np

    from plugins.label_errors.confident_learning import find_label_errors, score_labels

    shares = decisions.probabilities.astype("float64")
    wrong, scores = np.zeros(len(shares), bool), np.zeros(len(shares))
    all_numbers, places = np.arange(len(decisions.rows)), np.unique(decisions.places)
    # The numbers of the decisions of each classification.
    for members in (np.flatnonzero(decisions.places == place) for place in places) if by_label else [all_numbers]:
        wrong[members] = find_label_errors(decisions.given[members], shares[members])
        scores[members] = score_labels(decisions.given[members], shares[members], score)
    lowest = np.full(rows, np.inf)
    np.minimum.at(lowest, decisions.rows, scores)
    suggested: list[dict[int, int]] = [{} for _ in range(rows)]
    for number in np.flatnonzero(wrong).tolist():
        suggested[decisions.rows[number]][int(decisions.places[number])] = int(shares[number].argmax())
    judgements = [
        RowJudgement(row, float(lowest[row]) if np.isfinite(lowest[row]) else None, suggested[row])
        for row in range(rows)
    ]
    return sorted(judgements, key=lambda judgement: (not judgement.suggested, lowest[judgement.row], judgement.row))


def count_pairs(
    judgements: Iterable[RowJudgement], decisions: LabelDecisions, classes: Sequence[str], labels: Sequence[str]
) -> list[LabelPair]:
    """The most frequent pairs of a given and a suggested label.

    Where `classes` are other than `labels`, each label by itself is present or absent.
    """
    columns = (decisions.rows.tolist(), decisions.places.tolist(), decisions.given.tolist())
    given = {(row, place): number for row, place, number in zip(*columns, strict=True)}

    def name(place: int, number: int) -> str:
        return classes[number] if classes == labels else f"{labels[place]}: {classes[number]}"

    pairs = Counter(
        (name(place, given[judgement.row, place]), name(place, number))
        for judgement in judgements
        for place, number in judgement.suggested.items()
    )
    return [LabelPair(*names, count) for names, count in pairs.most_common(_MOST_PAIRS)]
