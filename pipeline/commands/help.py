"""The layout of help texts: at most 80 columns, and no line ends inside of an option or a file name."""

import argparse
import shlex
import shutil
import textwrap
from collections.abc import Iterable, Iterator

WIDTH = 80


class HelpFormatter(argparse.HelpFormatter):
    """Wraps at spaces only, and leaves indented lines as they are."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=26, width=min(WIDTH, shutil.get_terminal_size().columns) - 1)

    def _split_lines(self, text: str, width: int) -> list[str]:
        return wrap(text, width)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        lines = (
            [indent + line] if line.startswith(" ") else wrap(line, width - len(indent)) or [""]
            for line in text.splitlines()
        )
        return "\n".join(line for wrapped in lines for line in wrapped)


def wrap(text: str, width: int) -> list[str]:
    """The lines of a text that is broken at spaces only."""
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)


def command_groups(groups: Iterable[tuple[str, Iterable[tuple[str, str]]]]) -> str:
    """Titles, and below each its verbs with a line about them."""
    lines: list[str] = []
    for title, verbs in groups:
        lines += [f"{title}:"]
        for verb, purpose in verbs:
            first, *others = wrap(purpose, WIDTH - 15)
            lines += [f"  {verb:<11} {first}", *(f"{'':14}{line}" for line in others)]
        lines.append("")
    return "\n".join(lines)


def example(command_line: str) -> str:
    """A command line to be shown and copied: one that is too long goes on in the next line, before an option."""
    lines = ["  " + _quoted(next(parts := _parts(command_line)))]
    for part in parts:
        words = _quoted(part)
        if len(lines[-1]) + len(words) + 3 > WIDTH - 1:
            lines[-1] += " \\"
            lines.append(f"      {words}")
        else:
            lines[-1] += f" {words}"
    return "\n".join(["example:", *lines])


def _parts(command_line: str) -> Iterator[list[str]]:
    """The words of a command line; an option is one part with its values."""
    words = shlex.split(command_line)
    part = words[:2]
    for word in words[2:]:
        if word.startswith("--") or not part[0].startswith("--"):
            yield part
            part = [word]
        else:
            part.append(word)
    yield part


def _quoted(words: list[str]) -> str:
    return " ".join(f'"{word}"' if " " in word else word for word in words)
