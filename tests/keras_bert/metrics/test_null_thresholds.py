"""The threshold for no answer: found on held-out questions, and of use on others."""

import math
from types import SimpleNamespace

from keras_bert.metrics.squad import choose_null_threshold, score_v2
from keras_bert.tasks.question_answering import QuestionAnswering

# Right answers are the surer, but all of them speak for no answer by the default threshold, 0.
GOLDS = 20 * [["ship"], ["sail"], [], ["mast"], []]
ANSWERS = 20 * [("ship", 1.0), ("sail", 2.5), ("rope", 4.0), ("tide", 5.0), ("deck", math.inf)]


def test_the_threshold_parts_right_from_wrong():
    threshold = choose_null_threshold(ANSWERS, GOLDS)
    assert threshold == 2.5
    texts, golds = ({str(row): value for row, value in enumerate(rows)} for rows in ([a for a, _ in ANSWERS], GOLDS))
    differences = {str(row): difference for row, (_, difference) in enumerate(ANSWERS)}
    assert score_v2(texts, golds, differences, 0.0)["f1"] == 40
    assert score_v2(texts, golds, differences, threshold)["f1"] == 80


def test_few_questions_move_the_threshold_less():
    """One lucky answer to one of two questions took the threshold to 40."""
    lucky = [("ship", -1.0), ("sail", 40.0)]
    assert 0 <= choose_null_threshold([*lucky, ANSWERS[2]], GOLDS[:3]) < 40
    # Without a question that has none, nothing says when to give no answer.
    assert choose_null_threshold(lucky, GOLDS[:2]) == 0


def test_where_nothing_is_answered_rightly_the_threshold_is_still_a_number():
    assert math.isfinite(choose_null_threshold([("", math.inf)] * 100, GOLDS))
    assert math.isfinite(choose_null_threshold([("ship", 3.0)], [[]]))


def test_the_threshold_is_found_among_answers_to_all_questions():
    answers = [SimpleNamespace(text=text, null_score_difference=difference) for text, difference in ANSWERS]
    task = SimpleNamespace(null_threshold=0.0)

    def predict(questions, contexts):
        assert task.null_threshold is None, "with one, some would have no answer"
        assert (questions, contexts) == (["who ?"] * 100, ["the text"] * 100)
        return answers

    task.predict = predict
    # One answer, several or none.
    golds = 20 * [("ship", 0), [("sail", 0), ("sails", 0)], (), [("mast", 0)], None]
    QuestionAnswering.tune(task, ["who ?"] * 100, ["the text"] * 100, golds)
    assert task.null_threshold == 2.5
