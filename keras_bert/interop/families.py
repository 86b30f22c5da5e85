"""The families that transformers has and this library reads and writes."""

import difflib
from typing import Any

from keras_bert.config import EncoderConfig
from keras_bert.interop.family import Family
from keras_bert.interop.rows import bert, block_sparse, bottleneck, disentangled, modern, sliding_window

_ROWS = (bert, bottleneck, disentangled, modern, sliding_window, block_sparse)

FAMILIES: dict[str, Family] = {family.name: family for row in _ROWS for family in row.FAMILIES}


def find_family(name: Any, where: str) -> Family:
    """The family of a `model_type`.

    Args:
        name: of the family.
        where: it was found, for the message.

    Raises:
        ValueError: there is none of this name; tells the nearest.
    """
    if isinstance(name, str) and name in FAMILIES:
        return FAMILIES[name]
    near = difflib.get_close_matches(str(name), FAMILIES, n=1, cutoff=0.0)[0]
    raise ValueError(f"{where}: model_type must be one of {list(FAMILIES)}, got {name!r}; the nearest is {near!r}")


def family_of(config: EncoderConfig, name: str | None, *, pooler: bool) -> Family:
    """The family to write an encoder as: the one that is named, else the first that it fits.

    Args:
        config: of the encoder.
        name: of the family, or None.
        pooler: whether it has a pooler, or a layer in the place of one.

    Raises:
        ValueError: it is of no family, or not of the one that is named.
    """
    if name is not None:
        family = find_family(name, "family")
        misfit = family.misfit(config, pooler=pooler)
        if misfit is not None:
            raise ValueError(f"family {name!r} does not fit: {misfit}")
        return family
    misfits = {family.name: family.misfit(config, pooler=pooler) for family in FAMILIES.values()}
    fitting = next((name for name, misfit in misfits.items() if misfit is None), None)
    if fitting is None:
        raise ValueError(f"the encoder is of no family that Hugging Face has: {misfits}")
    return FAMILIES[fitting]
