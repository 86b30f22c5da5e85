"""The kinds of `[student]`: an encoder smaller than its teacher, or a student of a plug-in, which `kind` names."""

import functools
import operator
from typing import TYPE_CHECKING, Annotated, Any

import pydantic

from keras_bert.core.plugins import find_plugins
from keras_bert.options.compression import Student

# The kinds of plug-ins: subclasses of `Student` with a field `kind`, the name of their entry point.
STUDENTS: dict[str, type[Student]] = {name: plugin.load() for name, plugin in find_plugins("students").items()}


def _choose(value: Any) -> str:
    return str(value.get("kind", "") if isinstance(value, dict) else getattr(value, "kind", ""))


if TYPE_CHECKING or not STUDENTS:
    AnyStudent = Student
else:
    _KINDS = (Annotated[kind, pydantic.Tag(name)] for name, kind in {"": Student, **STUDENTS}.items())
    AnyStudent = Annotated[functools.reduce(operator.or_, _KINDS), pydantic.Discriminator(_choose)]
