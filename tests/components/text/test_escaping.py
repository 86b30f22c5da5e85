"""Texts with control characters, tabs, markup and links, in each place where they are shown."""

import pytest

from components.text.escaping import escape_field, escape_markdown, escape_terminal


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("\x1b[2J\x1b]0;title\x07", "\\x1b[2J\\x1b]0;title\\x07"),
        ("a\rb\x9b1m", "a\\rb\\x9b1m"),
        ("a\u2028b\u0085", "a\\u2028b\\x85"),
        # U+202E turns the order of the characters after it.
        ("gnp\u202eexe", "gnp\\u202eexe"),
        ("\ud800", "\\ud800"),
        # Letters, joiners and emoji of all scripts stay.
        ("विष्णु 👩\u200d💻 C:\\new", "विष्णु 👩\u200d💻 C:\\new"),
    ],
)
def test_control_characters_are_written_out(text, written):
    assert escape_terminal(text) == escape_field(text) == written
    assert escape_terminal(written) == written, "once is enough"


def test_a_tab_or_a_line_end_stays_on_a_terminal_and_not_in_a_field():
    assert escape_terminal("a\tb\nc") == "a\tb\nc"
    assert escape_field("a\tb\nc") == "a\\tb\\nc"


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
        ("[here](x) ![img](y)", r"\[here\](x) !\[img\](y)"),
        ("https://a.example www.a.example", "https&#58;//a.example www&#46;a.example"),
        ("*a* _b_ `c` a|b ~d~ \\", r"\*a\* \_b\_ \`c\` a\|b \~d\~ " + "\\\\"),
        ("macro_f1 & &lt;", "macro_f1 &amp; &amp;lt;"),
        ("one\ntwo\tthree\x1b", "one<br>two\\tthree\\x1b"),
    ],
)
def test_markdown_shows_a_text_as_it_is(text, markdown):
    assert escape_markdown(text) == markdown
