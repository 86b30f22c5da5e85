"""The canonical form of parameters, equal for equal parameters in any process: cache keys are made of it."""

import dataclasses
import enum
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class Source(Protocol):
    """A parameter that stands for data outside the store, such as a folder of the user's."""

    def fingerprint(self) -> str:
        """The digest of the content; it goes into the cache key in place of the location.

        Raises:
            InputError: the data is not there or cannot be used.
        """


@runtime_checkable
class FileSource(Source, Protocol):
    """A source that can name what it reads."""

    def digests(self) -> dict[str, str]:
        """Name of a source of data, mostly a file's path -> the digest of its content, or the version of a library.

        Raises:
            InputError: the data is not there or cannot be used.
        """


@runtime_checkable
class Lookup(Protocol):
    """A parameter that chooses data outside the store, once the inputs of its step exist."""

    def look_up(self, inputs: Mapping[str, str | None]) -> Source | None:
        """The data, or None if there is none.

        `inputs` has the fingerprint of each artifact that the step reads, None for one that is absent.

        Raises:
            InputError: the data cannot be used.
        """


def outside_data(value: Any) -> dict[str, str]:
    """Name -> digest of the user's data that a parameter reads; empty for a parameter that holds its whole value."""
    return value.digests() if isinstance(value, FileSource) else {}


def canonical(value: Any) -> Any:
    """A parameter as JSON values, the same for equal parameters in any process."""
    if isinstance(value, Source):
        return {"type": type(value).__name__, "fingerprint": value.fingerprint()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: canonical(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return {"type": type(value).__name__, **fields}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): canonical(item) for key, item in sorted(value.items())}
    if isinstance(value, list | tuple):
        return [canonical(item) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"a parameter must be made of plain values and dataclasses, got {value!r}")
