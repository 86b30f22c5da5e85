"""Texts of users as parts of a terminal's output, of a tab-separated line and of Markdown, without effects there."""

import re
import unicodedata

# Cc: control characters, which move the cursor or change colours; Zl and Zp end lines; Cs: halves of characters, which
# no file can hold; of Cf, those that reorder the
# text around them (Unicode's "Trojan Source" characters). Joiners of Indic scripts and of emoji are Cf, too, and stay.
_REORDERING = {*map(chr, (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)))}
_LAYOUT = {"\n", "\t"}
# An underscore inside a word is not emphasis.
_MARKDOWN = re.compile(r"[\\`*\[\]|~]|(?<![^\W_])_|_(?![^\W_])")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
# GitHub makes links of bare addresses, also of escaped ones; an entity ends that.
_ADDRESS = re.compile(r"(?i)(?<=[a-z]):(?=//)|(?<=www)\.")


def escape_terminal(text: str) -> str:
    r"""A text whose control characters are written out, such as `\x1b`; line ends and tabs stay."""
    return _write_out(text, _LAYOUT)


def escape_field(text: str) -> str:
    r"""A text as one field of a tab-separated line: tabs and line ends are written out as well."""
    return _write_out(text, set())


def escape_markdown(text: str) -> str:
    r"""A text that Markdown shows as it is: no markup, no HTML, no links; line ends become `<br>`."""
    text = "".join(_ENTITIES.get(character, character) for character in _MARKDOWN.sub(r"\\\g<0>", text))
    text = _ADDRESS.sub(lambda match: f"&#{ord(match[0])};", text)
    return _write_out(text.replace("\n", "<br>"), set())


def _write_out(text: str, kept: set[str]) -> str:
    # Most texts have nothing to write out.
    if text.isprintable():
        return text
    acting = {
        character
        for character in {*text} - kept
        if unicodedata.category(character) in ("Cc", "Zl", "Zp", "Cs") or character in _REORDERING
    }
    return "".join(
        character.encode("unicode_escape").decode() if character in acting else character for character in text
    )
