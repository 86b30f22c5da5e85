"""Chooses the candidates that are worth training among those that fit the limits."""

import math
from collections.abc import Iterable, Mapping, Sequence

from keras_bert.options.quantization import RECIPES
from plugins.search.candidates import Candidate, Grid
from plugins.search.limits import Limits
from plugins.search.sizes import Footprint

# The value of doubling a field relative to doubling the layers, which doubles heads and units, too. Vocabulary counts
# least, because the frequent tokens stay.
_SHARES = (1.0, 0.5, 0.5, 0.5, 0.25, 0.5)
_SCALE_BITS = 16


def select_maximal_fitting(grid: Grid, footprints: Mapping[Candidate, Footprint], limits: Limits) -> list[Candidate]:
    """Selects the candidates within the limits no field of which can grow, by descending capacity.

    A student that contains another one learns no worse from the same teacher, so the contained one needs no training.
    """
    fitting = {candidate for candidate, footprint in footprints.items() if limits.allow(footprint._asdict())}
    maximal = [candidate for candidate in fitting if not any(larger in fitting for larger in grid.larger(candidate))]
    return _by_capacity(maximal)


def select_uncontained(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Selects the candidates that no other one contains, by descending capacity."""

    def contains(one: Candidate, other: Candidate) -> bool:
        return one != other and all(a >= b for a, b in zip(one.values(), other.values(), strict=True))

    return _by_capacity(one for one in candidates if not any(contains(other, one) for other in candidates))


def select_distant(candidates: Sequence[Candidate], count: int, chosen: Sequence[Candidate] = ()) -> list[Candidate]:
    """Selects `count` candidates, each as far as possible from all selected before; starts with the first one."""
    taken, remaining = list(chosen), [candidate for candidate in candidates if candidate not in chosen]
    selection: list[Candidate] = []
    while remaining and len(selection) < count:
        farthest = max(remaining, key=lambda one: min((distance(one, other) for other in taken), default=0.0))
        selection.append(farthest)
        taken.append(farthest)
        remaining.remove(farthest)
    return selection


def capacity(candidate: Candidate) -> float:
    """The weighted sum of the logarithms (base 2) of a candidate's fields."""
    return sum(_doublings(candidate))


def distance(one: Candidate, other: Candidate) -> float:
    """The sum of the absolute differences of two candidates' fields in doublings."""
    return sum(abs(a - b) for a, b in zip(_doublings(one), _doublings(other), strict=True))


def _by_capacity(candidates: Iterable[Candidate]) -> list[Candidate]:
    return sorted(candidates, key=lambda candidate: (capacity(candidate), candidate.values()), reverse=True)


def _doublings(candidate: Candidate) -> list[float]:
    recipe = RECIPES[candidate.recipe]
    bits = recipe.weight_bits + (_SCALE_BITS / recipe.block if recipe.block else 0)
    return [share * math.log2(value) for share, value in zip(_SHARES, (*candidate[:5], bits), strict=True)]
