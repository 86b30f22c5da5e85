import time

import pytest

from components.sentences import split_sentences


@pytest.mark.parametrize(
    "sentences",
    [
        ["He met Dr. Smith at 5 p.m. in Washington D.C. yesterday.", "It cost $3.50."],
        ["We use e.g. numpy, i.e. arrays.", "See Fig. 3 and cf. Jones et al. 2019.", "Done."],
        ["J. R. R. Tolkien wrote it.", "Mr. and Mrs. Brown agreed."],
        ["\u00bfQu\u00e9 hora es?", "\u00a1Vamos!", "El Sr. Garc\u00eda lleg\u00f3."],
        ["\u0645\u0631\u062d\u0628\u0627\u061f", "\u0643\u064a\u0641 \u062d\u0627\u0644\u0643\u061f"],
        ['"Go now.', 'He is here," she said.'],
    ],
)
def test_splits_at_the_ends_of_sentences(sentences):
    assert split_sentences(" ".join(sentences)) == sentences


def test_the_end_of_a_line_ends_a_sentence():
    assert split_sentences("A title\n\n  no stop here \nThe rest.\n") == ["A title", "no stop here", "The rest."]
    assert split_sentences(" \n") == []


def test_chinese_stops():
    text = "\u6211\u4eec\u8d70\u5427\u3002\u4ed6\u8bf4\uff1a\u201c\u597d\uff01\u201d\u7136\u540e\u8d70\u4e86\uff1f"
    assert len(split_sentences(text)) == 3
    assert "".join(split_sentences(text)) == text


def test_long_lines_lose_nothing_and_take_time_in_proportion():
    sentences = [f"This is sentence number {number} of a long line." for number in range(3000)]
    assert split_sentences(" ".join(sentences)) == sentences
    began = time.process_time()
    assert len(split_sentences("\u4f60\u597d\u3002" * 20_000)) == 20_000
    assert "".join(split_sentences("x" * 10_001)) == "x" * 10_001
    assert time.process_time() - began < 5
