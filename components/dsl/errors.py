"""Errors of steps: input that cannot be used, and refusals; hints at similar names."""

import contextlib
import difflib
import shlex
from collections.abc import Iterable, Iterator

from keras_bert.core.checks import FieldError

# The most names in an error message.
_SHOWN = 20

_DISTRIBUTION = "keras-bert-edge"


class InputError(ValueError):
    """The user's input cannot be used: one line with the field, the rule, the value and the way out."""


class Refusal(Exception):
    """A step ran correctly and its answer is no (a model that is not blessed); steps that read from it do not run."""


@contextlib.contextmanager
def input_errors(start: str) -> Iterator[None]:
    """Turns a ValueError in the block into an InputError that begins with a text, such as the name of a setting.

    An InputError names its own setting, and stays as it is.
    """
    try:
        yield
    except InputError:
        raise
    except ValueError as error:
        raise InputError(f"{start}{error}") from None


@contextlib.contextmanager
def table_errors(table: str) -> Iterator[None]:
    """Turns a FieldError in the block into an InputError about a field of a table of the job."""
    try:
        yield
    except FieldError as error:
        raise InputError(error.describe(table)) from None


@contextlib.contextmanager
def prefixed_errors(start: str) -> Iterator[None]:
    """Puts a text, such as the name of a file or of a table, before the message of an InputError in the block."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{start}{error}") from None


def nearest(name: str, valid: Iterable[str], otherwise: str = "") -> str:
    """The end of an error message about an unknown name: the nearest valid name, or the first 20 of all.

    `otherwise` is added if no valid name is near.
    """
    names = sorted(valid)
    close = difflib.get_close_matches(name, names, n=1)
    if close:
        return f"; did you mean {close[0]!r}?"
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"; known: {', '.join(names[:_SHOWN])}{more}{otherwise}"


def install_command(extra: str) -> str:
    """The command that installs the packages of an extra, by the names that the installed distribution requires.

    They are on every index; the project may have been installed from a clone or a wheel, where pip would not find it.
    Packages that are only required on other systems or processors are left out.
    """
    import importlib.metadata

    from packaging.markers import Marker

    packages = []
    for line in importlib.metadata.requires(_DISTRIBUTION) or ():
        package, _, marker = line.partition(";")
        if f'extra == "{extra}"' in marker and Marker(marker).evaluate({"extra": extra}):
            packages.append(package.strip())
    return f"pip install {shlex.join(packages)}"
