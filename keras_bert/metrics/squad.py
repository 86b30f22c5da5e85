"""Exact match and F1 of answers, as SQuAD defines them (Rajpurkar et al. 2016, section 6.1; 2018, section 4.3)."""

import collections
import re
import string
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from keras_bert.metrics.label_thresholds import SUPPORTS, best_support, split_folds

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
# Chinese characters and kana: no blanks separate words.
_UNSEPARATED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_WORD = re.compile(f"[{_UNSEPARATED}]|[^\\s{_UNSEPARATED}]+")

Scores = dict[str, float]


def normalize(text: str) -> str:
    """SQuAD's normalization: lower case, no ASCII punctuation, no English articles, one space between words.

    Examples:
        >>> normalize("The  Eiffel Tower.")
        'eiffel tower'
    """
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split())


def exact_match(prediction: str, golds: Sequence[str]) -> float:
    """1 if the normalized prediction equals one of the normalized gold answers, else 0.

    Args:
        prediction: the text of the predicted answer; empty for no answer.
        golds: the texts of the gold answers; none if the question has no answer.

    Examples:
        >>> exact_match("the Eiffel Tower", ["Eiffel Tower", "La tour Eiffel"])
        1.0
    """
    return float(normalize(prediction) in {normalize(gold) for gold in golds or [""]})


def f1(prediction: str, golds: Sequence[str]) -> float:
    """The F1 of the prediction's normalized words, 0 to 1: the maximum over the gold answers.

    A Chinese character or a kana is a word, as in the scripts of CMRC 2018 and MLQA: between blanks, an answer would be
    right as a whole or not at all.
    If the prediction or a gold answer has no words, their F1 is 1 if neither has words, else 0 (v2.0).

    Args:
        prediction: the text of the predicted answer; empty for no answer.
        golds: the texts of the gold answers; none if the question has no answer.

    Examples:
        >>> round(f1("Eiffel Tower in Paris", ["Eiffel Tower"]), 3)  # precision 1/2, recall 1
        0.667
    """
    words = _WORD.findall(normalize(prediction))
    return max(_overlap(words, _WORD.findall(normalize(gold))) for gold in golds or [""])


def score_v1(predictions: Mapping[str, str], golds: Mapping[str, Sequence[str]]) -> Scores:
    """The scores of SQuAD v1.1, where each question has an answer.

    Args:
        predictions: question id -> text; a question without a prediction scores 0, as in the official script.
        golds: question id -> texts of the gold answers.

    Returns:
        `exact` and `f1`, 0 to 100, and `total`, the number of questions.

    Raises:
        ValueError: there are no questions, or a question has no gold answer.

    Examples:
        >>> score_v1({"q1": "Eiffel Tower", "q2": "1900"}, {"q1": ["the Eiffel Tower"], "q2": ["1889"]})
        {'exact': 50.0, 'f1': 50.0, 'total': 2}
    """
    _check_questions(golds)
    exact = matched = 0.0
    for key, texts in golds.items():
        if not texts:
            raise ValueError(f"golds[{key!r}] must hold an answer in SQuAD v1.1, got none")
        exact += exact_match(predictions[key], texts) if key in predictions else 0
        # Unlike v2.0, v1.1 gives an F1 of 0 if neither text has words.
        matched += f1(predictions[key], texts) if normalize(predictions.get(key, "")) else 0
    return {"exact": 100 * exact / len(golds), "f1": 100 * matched / len(golds), "total": len(golds)}


def score_v2(
    predictions: Mapping[str, str],
    golds: Mapping[str, Sequence[str]],
    no_answer_scores: Mapping[str, float] | None = None,
    threshold: float | None = None,
) -> Scores:
    """The scores of SQuAD v2.0, where some questions have no answer; the names are those of the official script.

    Args:
        predictions: question id -> text, empty for no answer.
        golds: question id -> texts of the gold answers, none if there is no answer.
        no_answer_scores: question id -> score of the prediction "no answer", in any unit. To find the best thresholds,
            predict an answer to every question (`null_threshold=None`) and pass `null_score_difference`.
        threshold: for a question with a greater score, the prediction counts as no answer.

    Returns:
        `exact`, `f1` (0 to 100) and `total`; the same with `HasAns_` for the questions that have an answer and with
        `NoAns_` for those that have none. With `no_answer_scores` also the scores at the best thresholds, `best_exact`
        and `best_f1`, and the thresholds, `best_exact_thresh` and `best_f1_thresh` (0 if it is best to answer no
        question).

    Raises:
        ValueError: there are no questions, a question has no prediction or no score, or a threshold is given without
            scores.

    Examples:
        >>> scores = score_v2({"q1": "Eiffel Tower", "q2": "1900"}, {"q1": ["the Eiffel Tower"], "q2": []})
        >>> scores["exact"], scores["HasAns_exact"], scores["NoAns_exact"]
        (50.0, 100.0, 0.0)
    """
    _check_questions(golds)
    _check_covered("predictions", predictions, golds)
    if no_answer_scores is not None:
        _check_covered("no_answer_scores", no_answer_scores, golds)
    elif threshold is not None:
        raise ValueError(f"threshold must come with no_answer_scores, got {threshold!r} without them")
    kept = {key: [text for text in texts if normalize(text)] for key, texts in golds.items()}
    raw = {
        "exact": {key: exact_match(predictions[key], texts) for key, texts in kept.items()},
        "f1": {key: f1(predictions[key], texts) for key, texts in kept.items()},
    }
    silent = {key for key in golds if threshold is not None and no_answer_scores and no_answer_scores[key] > threshold}
    final = {
        name: {key: float(not golds[key]) if key in silent else score for key, score in scores.items()}
        for name, scores in raw.items()
    }
    result = _means(final, golds)
    for prefix, answered in (("HasAns_", True), ("NoAns_", False)):
        chosen = [key for key, texts in golds.items() if bool(texts) == answered]
        if chosen:
            result |= {prefix + name: value for name, value in _means(final, chosen).items()}
    if no_answer_scores is not None:
        for name, scores in raw.items():
            best, place = _best_threshold(scores, predictions, golds, no_answer_scores)
            result |= {f"best_{name}": best, f"best_{name}_thresh": place}
    return result


def choose_null_threshold(answers: Sequence[tuple[str, float]], golds: Sequence[Sequence[str]]) -> float:
    """The score above which no answer is given, with the best F1, moved towards 0 as far as few questions support it.

    The best one, as the official script of SQuAD v2.0 finds it, is multiplied by n / (n + support). n is the number of
    questions with an answer or of questions without one, whichever is smaller. Cross-validation chooses the support, as
    in `keras_bert.metrics.label_thresholds.choose_thresholds`.

    Args:
        answers: the text of each answer without a threshold, and its `null_score_difference`.
        golds: the texts of the gold answers to each question, none if there is no answer.
    """
    texts = {str(row): text for row, (text, _) in enumerate(answers)}
    differences = {str(row): difference for row, (_, difference) in enumerate(answers)}

    def find(rows: Iterable[int]) -> list[float]:
        part = {str(row): golds[row] for row in rows}
        silent = sum(not answers for answers in part.values())
        count = min(silent, len(part) - silent)
        best = score_v2(texts, part, differences)["best_f1_thresh"] if count else 0.0
        return [best * (count / max(count + support, 1)) + 0.0 for support in SUPPORTS]

    totals = np.zeros(len(SUPPORTS))
    for learned, held in split_folds(len(golds)):
        part = {str(row): golds[row] for row in held}
        totals += [len(part) * score_v2(texts, part, differences, threshold)["f1"] for threshold in find(learned)]
    return find(range(len(golds)))[best_support(totals)]


def _overlap(prediction: list[str], gold: list[str]) -> float:
    if not prediction or not gold:
        return float(prediction == gold)
    common = sum((collections.Counter(prediction) & collections.Counter(gold)).values())
    if not common:
        return 0.0
    precision, recall = common / len(prediction), common / len(gold)
    return 2 * precision * recall / (precision + recall)


def _means(scores: Mapping[str, Mapping[str, float]], keys: Iterable[str]) -> Scores:
    keys = list(keys)
    means: Scores = {name: 100 * sum(values[key] for key in keys) / len(keys) for name, values in scores.items()}
    return means | {"total": len(keys)}


def _best_threshold(
    scores: Mapping[str, float],
    predictions: Mapping[str, str],
    golds: Mapping[str, Sequence[str]],
    no_answer_scores: Mapping[str, float],
) -> tuple[float, float]:
    """The best mean score (0 to 100) over all thresholds, and the threshold.

    It starts with no answered question, and answers one after another in ascending order of their score: an answer adds
    its exact match or F1 if the question has an answer, else it costs 1.
    """
    order = sorted((key for key in no_answer_scores if key in golds), key=lambda key: no_answer_scores[key])
    gains = [scores[key] if golds[key] else -float(bool(predictions[key])) for key in order]
    totals = np.cumsum([sum(not texts for texts in golds.values()), *gains])
    best = int(totals.argmax())
    return float(100 * totals[best] / len(golds)), float(no_answer_scores[order[best - 1]]) if best else 0.0


def _check_questions(golds: Mapping[str, Sequence[str]]) -> None:
    if not golds:
        raise ValueError("golds must hold at least one question, got none")


def _check_covered(name: str, values: Mapping[str, object], golds: Mapping[str, Sequence[str]]) -> None:
    for key in golds:
        if key not in values:
            raise ValueError(f"{name} must hold every question, got none for {key!r}")
