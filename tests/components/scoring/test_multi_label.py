import types

import numpy as np
import pytest
from sklearn import metrics as sklearn_metrics

from components.scoring import multi_label
from components.scoring.multi_label import LabelSetAnswer, LabelSetScoring, score_sets
from components.sources.label_sets import LabelSetRow

LABELS = ["a", "b", "c", "d"]
SCORING = LabelSetScoring()


def random_rows(seed, count=40):
    """Truth, what is given and probabilities (rows, labels); `d` is never true, `c` never given."""
    chance = np.random.default_rng(seed)
    shares = chance.uniform(size=(count, 4))
    truth = chance.uniform(size=(count, 4)) < shares * [1, 0.6, 0.3, 0]
    return truth, shares >= [0.5, 0.6, 2.0, 0.9], shares


def as_rows(truth, given, shares):
    names = np.array(LABELS)
    rows = [LabelSetRow(f"text {number}", tuple(names[flags])) for number, flags in enumerate(truth)]
    answers = [
        LabelSetAnswer(frozenset(names[flags]), dict(zip(LABELS, row, strict=True)))
        for flags, row in zip(given, shares, strict=True)
    ]
    return rows, answers


def f1(true, got):
    both = (true & got).sum()
    return 2 * both / (true.sum() + got.sum()) if true.sum() + got.sum() else None


@pytest.mark.parametrize("seed", range(4))
def test_the_metrics_by_hand_and_by_scikit_learn(seed):
    truth, given, shares = random_rows(seed)
    scores = SCORING.score(*as_rows(truth, given, shares), LABELS)
    precisions = [sklearn_metrics.average_precision_score(truth[:, n], shares[:, n]) for n in range(3)]
    samples = [f1(true, got) for true, got in zip(truth, given, strict=True)]
    assert scores.metrics == pytest.approx(
        {
            "micro_f1": f1(truth.ravel(), given.ravel()),
            "macro_f1": np.mean([f1(truth[:, n], given[:, n]) for n in range(4)]),
            "sample_f1": np.mean([1.0 if score is None else score for score in samples]),
            "subset_accuracy": (truth == given).all(axis=1).mean(),
            "average_precision": np.mean(precisions),
        },
        abs=1e-6,
    )
    assert scores.metrics["micro_f1"] == pytest.approx(
        sklearn_metrics.f1_score(truth, given, average="micro"), abs=1e-6
    )
    assert tuple(scores.metrics) == SCORING.metrics(LABELS)
    assert scores.report["a"]["support"] == truth[:, 0].sum()
    assert scores.report["b"]["average precision"] == pytest.approx(precisions[1])
    assert scores.confusion is None


def test_a_row_without_labels_that_gets_none_is_right():
    nothing = np.zeros((2, 4), bool)
    scores = score_sets(nothing, nothing, nothing.astype(float), LABELS).metrics
    assert (scores["sample_f1"], scores["subset_accuracy"], scores["micro_f1"], scores["average_precision"]) == (
        1,
        1,
        0,
        0,
    )


def test_the_worst_rows_have_the_most_wrong_labels():
    rows = [LabelSetRow("one", ("a",)), LabelSetRow("two", ("a", "b")), LabelSetRow("three", ())]
    answers = [LabelSetAnswer(frozenset(names), {}) for names in (["a"], ["c"], ["d"])]
    mistakes = SCORING.mistakes(rows, answers, None)
    assert [(row.truth, row.answer, row.value) for row in mistakes.rows] == [("a, b", "c", 3.0), ("none", "d", 1.0)]
    assert (mistakes.measure, mistakes.wrong, mistakes.total) == ("wrong labels", 2, 3)


def test_baselines():
    train = [LabelSetRow(f"film {n}", ("a",)) for n in range(6)] + [
        LabelSetRow(f"tax {n}", ("b", "c")) for n in range(5)
    ]
    test = [LabelSetRow("film", ("a",)), LabelSetRow("tax", ("b", "c"))]
    name, trivial = SCORING.trivial(train, test)
    assert (name, [answer.labels for answer in trivial]) == ("most frequent label", [{"a"}, {"a"}])
    assert SCORING.score(test, trivial, ["a", "b", "c"]).metrics["subset_accuracy"] == 0.5
    (method,) = SCORING.baselines(train, test, test).values()
    assert [answer.labels for answer in method()] == [{"a"}, {"b", "c"}]


def test_the_baseline_chooses_its_thresholds_as_the_model(monkeypatch):
    """N-grams hardly ever give a rare label a probability of half."""
    rows = [LabelSetRow(f"text {number}", ("a",) if number < 5 else ()) for number in range(20)]
    shares = np.array([[0.3 if row.labels else 0.1] for row in rows])
    monkeypatch.setattr(multi_label, "classify_sets_by_ngrams", lambda *_: (shares, shares))
    (method,) = SCORING.baselines(rows, rows, rows).values()
    assert [answer.labels for answer in method()] == [set(row.labels) for row in rows]


def test_answers_at_half_show_what_thresholds_gain():
    truth, given, shares = random_rows(0)
    rows, answers = as_rows(truth, given, shares)
    (plain,) = SCORING.variants(types.SimpleNamespace(labels=LABELS), rows, answers).values()
    assert SCORING.score(rows, plain, LABELS).metrics == score_sets(truth, shares >= 0.5, shares, LABELS).metrics
