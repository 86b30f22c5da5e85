"""Records of several kinds, as plain values with the name of their kind."""

from collections.abc import Mapping
from typing import Any, TypeVar

from keras_bert.checks import check

T = TypeVar("T")


def read_kind(content: Mapping[str, Any], kinds: Mapping[str, type[T]], owner: str) -> T:
    """A record of its fields and `kind`; lists, as JSON has them, become tuples.

    Args:
        content: the plain values.
        kinds: the names of the kinds.
        owner: of `kind`, for messages.

    Raises:
        ValueError: there is no such kind, or a field breaks a rule of its kind.
        TypeError: the kind has no such field.
    """
    fields: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in content.items()
    }
    kind = fields.pop("kind", None)
    check(owner, "kind", kind in kinds, f"be one of {list(kinds)}", kind)
    return kinds[kind](**fields)
