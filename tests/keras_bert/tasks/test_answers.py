from types import SimpleNamespace

import numpy as np

from keras_bert.tasks.answer_spans import Spans, answers_of


def test_an_answer_ends_with_the_marks_of_its_last_letter():
    name = "\u0935\u093f\u0937\u094d\u0923\u0941"  # Vishnu, which ends with a vowel sign that no token covers
    spans = Spans(*(np.array([value]) for value in (0.0, 0, 1, 0.0, -9.0)))
    pieces = SimpleNamespace(starts=np.array([2, 5]), ends=np.array([5, 7]))
    (answer,) = answers_of(spans, pieces, [f"a {name}!"], None)
    assert (answer.text, answer.start, answer.end) == (name, 2, 2 + len(name))
