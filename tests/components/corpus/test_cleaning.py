from components.corpus.cleaning import Cleaning, judge, remove_controls
from components.corpus.repetition import find_repetition


def test_removes_what_bert_calls_control_characters_and_keeps_ends_of_lines():
    text = "a\x00b\tc\nd\x0ce\r\nf\x1bg\ufffdh\ufeffi\u200bj\u2028k\x85l\rm"
    assert remove_controls(text) == "ab\tc\nd\ne\nfghi\u200bj\u2028k\nl\nm"


def test_rules_keep_by_default_what_has_any_text():
    assert judge("x", Cleaning()) is None
    assert judge("la la la\n" * 50, Cleaning()) is None
    assert judge(" \n", Cleaning()) == ("too short", "empty after cleaning")


def test_word_limits():
    cleaning = Cleaning(min_words=3, max_words=4)
    assert judge("one two", cleaning) == ("too short", "2 words, the minimum is 3")
    assert judge("one two three", cleaning) is None
    assert judge("one two three four five", cleaning) == ("too long", "5 words, the maximum is 4")


def test_repeated_lines_and_paragraphs():
    lines_read = [f"line number {number} of them" for number in range(7)]
    assert find_repetition("\n".join([*lines_read, "a", "a", "a"]), ngrams=False) is None
    lines = "\n".join([*lines_read[:5], "a", "a", "a", "a"])
    assert find_repetition(lines, ngrams=False) == "33% duplicate lines, the maximum is 30%"
    long = "\n".join([*lines_read, "x" * 60, "x" * 60])
    assert find_repetition(long, ngrams=False) == "22% characters in duplicate lines, the maximum is 20%"
    paragraphs = "One\ntwo.\n\nThree\nfour.\n\nOne\n two.\n\nOne\ntwo."
    assert judge(paragraphs, Cleaning(repetition="lines")) is not None


def test_repeated_ngrams():
    words = [f"w{number}" for number in range(200)]
    assert find_repetition(" ".join(words), ngrams=True) is None
    # 50 of 250 words belong to the second copy, and shorter n-grams are looked at first.
    repetition = find_repetition(" ".join([*words, *words[:50]]), ngrams=True)
    assert repetition is not None
    assert "duplicate 5-grams, the maximum is 15%" in repetition
    assert find_repetition(" ".join([*words, *words[:10]]), ngrams=True) is None
    top = find_repetition(" ".join(f"so it {word}" for word in words), ngrams=True)
    assert top is not None
    assert "most frequent 2-gram, the maximum is 20%" in top
