"""Scripts that complete a command line in a shell, generated from the parser: completing starts no Python."""

import argparse
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from pipeline.commands.arguments import absolute_path
from pipeline.commands.command import PROGRAM


class Option(NamedTuple):
    """One option of a verb.

    Attributes:
        flags: its spellings.
        purpose: its help.
        value: the name of its value; empty if it takes none.
        is_path: whether the value is a path.
        choices: the values that it may take; empty if others may do.
    """

    flags: tuple[str, ...]
    purpose: str
    value: str
    is_path: bool
    choices: tuple[str, ...]


class Verb(NamedTuple):
    """One verb with its options.

    Attributes:
        name: as a user types it.
        purpose: its description, in one line.
        options: all but `--help`.
        takes_path: whether its arguments are paths.
    """

    name: str
    purpose: str
    options: tuple[Option, ...]
    takes_path: bool


class PrintCompletion(argparse.Action):
    """Prints the script for the shell that the option names, then exits."""

    def __call__(self, parser: argparse.ArgumentParser, _: Any, values: Any, __: str | None = None) -> None:
        """Prints the script."""
        print(SHELLS[values](parser), end="")  # noqa: T201
        parser.exit()


def _verbs(parser: argparse.ArgumentParser) -> list[Verb]:
    (verbs,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    return [
        Verb(
            name,
            (verb.description or "").splitlines()[0],
            _options(verb),
            any(action.type is absolute_path for action in verb._actions if not action.option_strings),
        )
        for name, verb in verbs.choices.items()
    ]


def _options(parser: argparse.ArgumentParser) -> tuple[Option, ...]:
    return tuple(
        Option(
            tuple(action.option_strings),
            (action.help or "") % vars(action),
            "" if action.nargs == 0 else str(action.metavar or action.dest.upper()),
            action.type is absolute_path,
            tuple(map(str, action.choices or ())),
        )
        for action in parser._actions
        if action.option_strings
    )


def _bash(parser: argparse.ArgumentParser) -> str:
    verbs, shared = _verbs(parser), _options(parser)
    flags = "\n".join(
        f'        {verb.name}) words="{" ".join(flag for option in verb.options for flag in option.flags)}" ;;'
        for verb in verbs
    )
    first = " ".join([*(verb.name for verb in verbs), *(flag for option in shared for flag in option.flags)])
    choices = "\n".join(
        f'        {flag}) words="{" ".join(option.choices)}"; current=" $current" ;;'
        for option in shared
        for flag in option.flags
        if option.choices
    )
    return f"""\
_keras_bert_edge() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" verb="${{COMP_WORDS[1]}}" words=""
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W "{first}" -- "$current"))
        return
    fi
    case "$verb" in
{flags}
{choices}
    esac
    case "$current" in
        -* | " "*) COMPREPLY=($(compgen -W "$words" -- "${{current# }}")) ;;
    esac
}}
complete -o default -F _keras_bert_edge {PROGRAM}
"""


def _zsh(parser: argparse.ArgumentParser) -> str:
    verbs = _verbs(parser)
    names = "\n".join(f"        {_quote(f'{verb.name}:{verb.purpose}')}" for verb in verbs)
    cases = "\n".join(
        f"        {verb.name})\n            _arguments {' '.join(_zsh_arguments(verb))} ;;" for verb in verbs
    )
    shared = " ".join(argument for option in _options(parser) for argument in _zsh_option(option))
    return f"""\
#compdef {PROGRAM}
_keras_bert_edge() {{
    local -a verbs=(
{names}
    )
    if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then
        _describe command verbs
        return
    fi
    case $words[2] in
        -*)
            _arguments {shared} ;;
{cases}
    esac
}}
compdef _keras_bert_edge {PROGRAM}
"""


def _zsh_arguments(verb: Verb) -> Iterator[str]:
    yield "1:command:"
    for option in verb.options:
        yield from _zsh_option(option)
    yield _quote("*:file:_files") if verb.takes_path else _quote("*: :")


def _zsh_option(option: Option) -> Iterator[str]:
    purpose = "".join(f"\\{letter}" if letter in "[]:" else letter for letter in option.purpose)
    complete = f"({' '.join(option.choices)})" if option.choices else "_files" if option.is_path else ""
    value = f":{option.value}:{complete}" if option.value else ""
    yield from (_quote(f"*{flag}[{purpose}]{value}") for flag in option.flags)


def _fish(parser: argparse.ArgumentParser) -> str:
    lines = [f"complete -c {PROGRAM} -n __fish_use_subcommand -f"]
    lines += [_fish_option("__fish_use_subcommand", option) for option in _options(parser)]
    for verb in _verbs(parser):
        lines.append(f"complete -c {PROGRAM} -n __fish_use_subcommand -a {verb.name} -d {_fish_quote(verb.purpose)}")
        seen = f"'__fish_seen_subcommand_from {verb.name}'"
        lines += [_fish_option(seen, option) for option in verb.options]
        if not verb.takes_path:
            lines.append(f"complete -c {PROGRAM} -n {seen} -f")
    return "\n".join(lines) + "\n"


def _fish_option(condition: str, option: Option) -> str:
    flags = " ".join(f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in option.flags)
    value = " -r" if option.value else ""
    if option.choices:
        value += f" -f -a {_fish_quote(' '.join(option.choices))}"
    elif option.is_path:
        value += " -F"
    return f"complete -c {PROGRAM} -n {condition} {flags}{value} -d {_fish_quote(option.purpose)}"


def _quote(text: str) -> str:
    """A word of bash or zsh."""
    return "'" + text.replace("'", "'\\''") + "'"


def _fish_quote(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


SHELLS: dict[str, Callable[[argparse.ArgumentParser], str]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}
