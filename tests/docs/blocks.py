"""Code in Markdown pages: fenced blocks with the reason why one is not run, and commands in running text."""

import dataclasses
import re
import shlex
from pathlib import Path

from markdown_it import MarkdownIt

REPOSITORY = Path(__file__).parents[2]
# The log says what was tried, by commands that may be gone; the changelog what there was in each version.
PAGES = sorted(
    [REPOSITORY / "README.md", REPOSITORY / "CONTRIBUTING.md"]
    + [*(REPOSITORY / "plugins").glob("*/README.md")]
    + [path for path in (REPOSITORY / "docs").rglob("*.md") if path.name != "log.md"]
)
_MARKER = re.compile(r"<!-- not run: (.+?) -->\s*$")


@dataclasses.dataclass(frozen=True)
class Block:
    """A block of code.

    Attributes:
        page: the file, relative to the repository.
        line: its first line in the file, from 1.
        language: the word after the fence; empty where there is none.
        code: the lines inside.
        reason: why it is not run, by the comment above it; else None.
    """

    page: str
    line: int
    language: str
    code: str
    reason: str | None

    def __str__(self):
        return f"{self.page}:{self.line}"


def read_blocks(text, page):
    """All blocks of code of a page."""
    blocks, reason = [], None
    for token in MarkdownIt("commonmark").parse(text):
        if token.type in ("fence", "code_block"):
            blocks.append(Block(page, token.map[0] + 1, token.info.strip(), token.content, reason))
        marker = _MARKER.search(token.content) if token.type == "html_block" else None
        reason = marker[1] if marker else None
    return blocks


def read_inline_code(text):
    """All code in running text and in tables."""
    return [
        inner.content.replace("\n", " ")
        for token in MarkdownIt("commonmark").enable("table").parse(text)
        for inner in token.children or ()
        if inner.type == "code_inline"
    ]


def command_lines(code):
    """The commands of a terminal session: the lines after `$ `, or all lines where there is no prompt.

    A line that ends with a backslash goes on in the next one.
    """
    lines = code.replace("\\\n", " ").splitlines()
    prompted = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
    return (line for line in prompted or lines if shlex.split(line, comments=True))
