import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.text.sentences import cut_sentences, measure_sentences, split_sentences


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


def test_a_letter_a_wide_blank_and_a_full_stop():
    # sentencex itself breaks down on these.
    assert split_sentences("In si\xa0b A\xa0. It\u2003ends.") == ["In si\xa0b A\xa0.", "It\u2003ends."]
    assert split_sentences("B\u2029.") == ["B\u2029."]


@settings(max_examples=200)
@given(st.text(st.sampled_from(" \n\t.!?\"\u201c\u201d\u2028\xa0\u3000aAbB\u3002'"), max_size=40))
def test_sizes_are_those_of_the_whole_text(text):
    sizes = measure_sentences(text)
    sentences = cut_sentences(text, sizes)
    assert sum(sizes) == (len(text) if sentences else 0)
    assert all(sentence and sentence == sentence.strip() for sentence in sentences)
    assert "".join("".join(sentences).split()) == "".join(text.split())
    assert not any("\n" in sentence for sentence in sentences)


def test_sizes_by_hand():
    assert measure_sentences("\n One. Two.\n\nThree\n ") == [7, 4, 9]
    assert cut_sentences("\n One. Two.\n\nThree\n ", [7, 4, 9]) == ["One.", "Two.", "Three"]
    assert measure_sentences(" \n") == []
