"""The kinds of graphs besides BERT's."""

from collections.abc import Mapping
from typing import Any

from keras_bert.checks import check
from keras_bert.variants.base import Variant
from keras_bert.variants.bottleneck import Bottleneck

VARIANTS: dict[str, type[Variant]] = {kind.kind: kind for kind in (Bottleneck,)}


def read_variant(content: Mapping[str, Any] | None) -> Variant | None:
    """What `Variant.as_dict` wrote; None for None.

    Raises:
        ValueError: there is no such kind, or a field breaks a rule of its kind.
        TypeError: the kind has no such field.
    """
    if content is None:
        return None
    fields = dict(content)
    kind = fields.pop("kind", None)
    check("Variant", "kind", kind in VARIANTS, f"be one of {list(VARIANTS)}", kind)
    # JSON has lists only.
    return VARIANTS[kind](
        **{name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()}
    )
