"""Which of the candidates that fit are worth a training."""

import math
from collections.abc import Mapping, Sequence

from keras_bert.options.quantization import RECIPES
from pipeline.shrink.candidates import Candidate, Grid
from pipeline.shrink.limits import Limits
from pipeline.shrink.sizes import Weight

# What a doubling of each field is worth beside one of layers, which doubles heads and units. Of pieces those that stay
# are the frequent ones, so that the others are worth least.
_SHARES = (1.0, 0.5, 0.5, 0.5, 0.25, 0.5)
_SCALE_BITS = 16


def widest(grid: Grid, weights: Mapping[Candidate, Weight], limits: Limits) -> list[Candidate]:
    """Those that fit and of which nothing can be larger without breaking a limit, the largest as a whole first.

    A student that contains another one learns no worse from the same teacher, so the others need no training.
    """
    fit = {each for each, weight in weights.items() if limits.allow(weight._asdict())}
    found = [each for each in fit if not any(larger in fit for larger in grid.larger(each))]
    return sorted(found, key=lambda each: (capacity(each), each.values()), reverse=True)


def containers(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The candidates without those that others of them contain, the largest as a whole first."""

    def contains(one: Candidate, other: Candidate) -> bool:
        return one != other and all(a >= b for a, b in zip(one.values(), other.values(), strict=True))

    found = [each for each in candidates if not any(contains(other, each) for other in candidates)]
    return sorted(found, key=lambda each: (capacity(each), each.values()), reverse=True)


def spread(candidates: Sequence[Candidate], count: int, chosen: Sequence[Candidate] = ()) -> list[Candidate]:
    """So many of the candidates, each as far as can be from those before it; the first one where none is before.

    Args:
        candidates: the better come first.
        count: how many.
        chosen: those that are there already.
    """
    taken, left = list(chosen), [each for each in candidates if each not in chosen]
    found: list[Candidate] = []
    while left and len(found) < count:
        best = max(left, key=lambda each: min((distance(each, other) for other in taken), default=0.0))
        found.append(best)
        taken.append(best)
        left.remove(best)
    return found


def capacity(candidate: Candidate) -> float:
    """How much there is of all, as doublings."""
    return sum(_doublings(candidate))


def distance(one: Candidate, other: Candidate) -> float:
    """How many doublings lie between two candidates, field by field."""
    return sum(abs(a - b) for a, b in zip(_doublings(one), _doublings(other), strict=True))


def _doublings(candidate: Candidate) -> list[float]:
    recipe = RECIPES[candidate.recipe]
    bits = recipe.weight_bits + (_SCALE_BITS / recipe.block if recipe.block else 0)
    return [share * math.log2(value) for share, value in zip(_SHARES, (*candidate[:5], bits), strict=True)]
