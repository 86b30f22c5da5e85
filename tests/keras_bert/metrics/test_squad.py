import pytest

from keras_bert.metrics.squad import exact_match, f1, normalize, score_v1, score_v2

# Chosen to meet each rule once. The golden figures come from the official scripts, evaluate-v1.1.py and
# evaluate-v2.0.py of the SQuAD site, run on these answers written as SQuAD files. On the published predictions of BERT
# (v1.1 ensemble, v2.0 single model) and on 275,000 random ones for both development sets, the functions under test and
# the official scripts gave the same figures to the last digit.
GOLDS = {
    "case": ["Denver Broncos", "The Denver Broncos", "broncos"],
    "part": ["the 12th-century Norman duke"],
    "wrong": ["gold"],
    "article": ["A", "letter A"],
    "twice": ["yes yes no"],
    "missing": ["1066"],
}
PREDICTIONS = {
    "case": "denver  broncos.",
    "part": "Norman duke",
    "wrong": "silver",
    "article": "the",
    "twice": "yes, no, no",
    "not asked": "x",
}
GOLDS_V2 = {
    **{key: GOLDS[key] for key in ("case", "part", "wrong", "article", "twice")},
    "only articles": ["the"],
    "silent": [],
    "talks": [],
    "dots": [],
}
PREDICTIONS_V2 = {**PREDICTIONS, "only articles": "", "silent": "", "talks": "something", "dots": "..."}
NO_ANSWER_SCORES = {
    "talks": 0.5,
    "case": -3.0,
    "part": -1.5,
    "wrong": 0.25,
    "article": 0.25,
    "twice": -1.0,
    "only articles": 2.0,
    "silent": 4.0,
    "dots": -0.5,
    "not asked": -9.0,
}

V1 = {"exact": 33.333333333, "f1": 41.111111111, "total": 6}
V2_NAMES = ("exact", "f1", "HasAns_exact", "HasAns_f1", "NoAns_exact", "NoAns_f1")
V2_TOTALS = {"total": 9, "HasAns_total": 6, "NoAns_total": 3}
V2_BEST = {"best_exact": 44.444444444, "best_exact_thresh": -3.0, "best_f1": 60.740740741, "best_f1_thresh": -1.0}
V2 = {
    threshold: dict(zip(V2_NAMES, figures, strict=True)) | V2_TOTALS | V2_BEST
    for threshold, figures in {
        None: (44.444444444, 60.740740741, 33.333333333, 57.777777778, 66.666666667, 66.666666667),
        0.25: (44.444444444, 60.740740741, 16.666666667, 41.111111111, 100.0, 100.0),
        -2.0: (44.444444444, 44.444444444, 16.666666667, 16.666666667, 100.0, 100.0),
    }.items()
}


@pytest.mark.parametrize(
    ("prediction", "gold", "expected"),
    [
        ("在北京大学", "北京大学", 8 / 9),
        ("iPhone 手机", "iPhone手机", 1.0),
        ("東京タワー", "東京", 4 / 7),
        ("서울 타워", "서울", 2 / 3),
        ("𠮷野", "𠮷", 2 / 3),
    ],
)
def test_chinese_characters_and_kana_are_words(prediction, gold, expected):
    """Between blanks, the first was 0."""
    assert f1(prediction, [gold]) == pytest.approx(expected)


def test_normalized_single_answers():
    assert normalize(" The  cat's-A an\u00a0apple, THE theatre. ") == "catsa apple theatre"
    assert normalize("\u2019Twas the \u201cend\u201d") == "\u2019twas \u201cend\u201d"  # only ASCII punctuation goes
    assert normalize("an") == ""
    assert exact_match("broncos!", GOLDS["case"]) == 1
    assert exact_match("bronco", GOLDS["case"]) == 0
    assert f1("Norman duke", GOLDS["part"]) == pytest.approx(2 * 1 * (2 / 3) / (1 + 2 / 3))
    assert f1("yes, no, no", GOLDS["twice"]) == pytest.approx(2 / 3)
    assert f1("silver", GOLDS["wrong"]) == 0
    assert exact_match("", []) == f1("", []) == f1("the", []) == 1
    assert exact_match("gold", []) == f1("gold", []) == 0


def test_scores_of_v1():
    assert score_v1(PREDICTIONS, GOLDS) == pytest.approx(V1)


@pytest.mark.parametrize("threshold", [None, 0.25, -2.0])
def test_scores_of_v2(threshold):
    assert score_v2(PREDICTIONS_V2, GOLDS_V2, NO_ANSWER_SCORES, threshold) == pytest.approx(V2[threshold])


def test_without_scores_of_no_answer_and_that_the_best_threshold_reaches_its_score():
    expected = {name: value for name, value in V2[None].items() if not name.startswith("best_")}
    assert score_v2(PREDICTIONS_V2, GOLDS_V2) == pytest.approx(expected)
    only = score_v2({"silent": ""}, {"silent": []}, {"silent": 1.0})
    assert only == {
        "exact": 100, "f1": 100, "total": 1, "NoAns_exact": 100, "NoAns_f1": 100, "NoAns_total": 1,
        "best_exact": 100, "best_exact_thresh": 0, "best_f1": 100, "best_f1_thresh": 0,
    }  # fmt: skip
    best = score_v2(PREDICTIONS_V2, GOLDS_V2, NO_ANSWER_SCORES)
    for name in ("exact", "f1"):
        at_best = score_v2(PREDICTIONS_V2, GOLDS_V2, NO_ANSWER_SCORES, best[f"best_{name}_thresh"])
        assert at_best[name] == pytest.approx(best[f"best_{name}"])


def test_refuses_missing_questions_and_scores():
    for score in (score_v1, score_v2):
        with pytest.raises(ValueError, match="golds must hold at least one question, got none"):
            score({}, {})
    with pytest.raises(ValueError, match=r"golds\['silent'\] must hold an answer in SQuAD v1.1, got none"):
        score_v1(PREDICTIONS_V2, GOLDS_V2)
    with pytest.raises(ValueError, match="predictions must hold every question, got none for 'missing'"):
        score_v2(PREDICTIONS, GOLDS)
    with pytest.raises(ValueError, match="no_answer_scores must hold every question, got none for 'case'"):
        score_v2(PREDICTIONS_V2, GOLDS_V2, {})
    with pytest.raises(ValueError, match=r"threshold must come with no_answer_scores, got 0.5 without them"):
        score_v2(PREDICTIONS_V2, GOLDS_V2, threshold=0.5)
