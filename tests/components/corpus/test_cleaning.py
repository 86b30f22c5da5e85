from components.corpus.cleaning import Cleaning, judge, remove_controls


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


def test_repetition_is_judged_as_far_as_the_settings_say():
    paragraphs = "One\ntwo.\n\nThree\nfour.\n\nOne\n two.\n\nOne\ntwo."
    assert judge(paragraphs, Cleaning(repetition="lines")) is not None
    words = [f"w{number}" for number in range(200)]
    copied = " ".join([*words, *words[:50]])
    assert judge(copied, Cleaning(repetition="lines")) is None
    assert judge(copied, Cleaning(repetition="gopher")) is not None
