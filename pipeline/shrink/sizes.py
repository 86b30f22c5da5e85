"""What candidates weigh and take: by arithmetic where nobody has measured, corrected by what was measured."""

import statistics
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Self

from keras_bert.config import EncoderConfig
from keras_bert.options.quantization import RECIPES, RecipeName
from pipeline.shrink.candidates import Candidate, Grid

# Bytes beside a weight: a scale for each unit, or half of one where 32 weights share it.
_SCALE_BYTES, _BLOCK_SCALE_BYTES = 4, 2
_FLOAT_BYTES = 4


class Weight(NamedTuple):
    """What a candidate's file weighs, and what a full text takes."""

    megabytes: float
    milliseconds: float


def table_bytes(candidate: Candidate) -> int:
    """Of a piece's row in the file."""
    return candidate.rank * (1 if RECIPES[candidate.recipe].integers else 2)


def weights_bytes(config: EncoderConfig, candidate: Candidate) -> float:
    """Of all that grows with the shape: the table, the kernels with their scales, biases and norms."""
    recipe, hidden, units = RECIPES[candidate.recipe], config.hidden_size, config.intermediate_size
    width = config.attention_size or hidden
    kernels, outputs = 4 * hidden * width + 2 * hidden * units, 3 * width + 2 * hidden + units
    scales = kernels / recipe.block * _BLOCK_SCALE_BYTES if recipe.block else outputs * _SCALE_BYTES
    block = kernels * recipe.weight_bits / 8 + scales + (outputs + 4 * hidden) * _FLOAT_BYTES
    blocks = 1 if config.shared_layers else config.num_layers
    factor = 0 if config.embedding_rank is None else candidate.rank * (config.embedding_size or hidden) * _FLOAT_BYTES
    return blocks * block + candidate.pieces * table_bytes(candidate) + factor


def count_operations(config: EncoderConfig, length: int) -> float:
    """Products of numbers for one text of so many tokens."""
    hidden, width = config.hidden_size, config.attention_size or config.hidden_size
    block = length * (4 * hidden * width + 2 * hidden * config.intermediate_size) + 2 * length**2 * width
    factor = 0 if config.embedding_rank is None else config.embedding_rank * (config.embedding_size or hidden)
    return config.num_layers * block + length * factor


class Scales(NamedTuple):
    """What files of one recipe weigh beside their weights, and what an operation takes.

    Attributes:
        bytes_fixed: of any file.
        bytes_a_layer: beside its weights: what its graph takes.
        fixed: milliseconds of any text.
        an_operation: milliseconds.
    """

    bytes_fixed: float
    bytes_a_layer: float
    fixed: float
    an_operation: float

    @classmethod
    def of(cls, weighed: Mapping[Candidate, Weight], grid: Grid, length: int) -> Self:
        """The lines through what was measured of one recipe, with the least squared errors."""
        configs = {each: grid.config(each) for each in weighed}
        layers = [each.layers for each in weighed]
        beside = [1e6 * w.megabytes - weights_bytes(configs[each], each) for each, w in weighed.items()]
        operations = [count_operations(configs[each], length) for each in weighed]
        fixed_bytes, layer_bytes = _line(layers, beside)
        fixed, rate = _line(operations, [w.milliseconds for w in weighed.values()])
        return cls(fixed_bytes, layer_bytes, fixed, rate)

    def predict(self, candidate: Candidate, grid: Grid, length: int) -> Weight:
        """What a candidate that was not measured may weigh and take."""
        config = grid.config(candidate)
        size = weights_bytes(config, candidate) + self.bytes_fixed + self.bytes_a_layer * candidate.layers
        return Weight(size / 1e6, self.fixed + self.an_operation * count_operations(config, length))


def predict_all(grid: Grid, weighed: Mapping[Candidate, Weight], length: int) -> dict[Candidate, Weight]:
    """Each member of a grid with what was measured of it, with another vocabulary if need be, or else is likely.

    Vocabularies only change how many rows the table has, and a row takes what it takes.
    """
    whole = grid.levels[4][0]
    scales: dict[RecipeName, Scales] = {}
    for recipe in {each.recipe for each in weighed}:
        scales[recipe] = Scales.of({own: w for own, w in weighed.items() if own.recipe == recipe}, grid, length)
    found = {}
    for member in grid.members:
        measured = weighed.get(member._replace(pieces=whole))
        if measured is not None:
            found[member] = with_pieces(measured, member, whole)
        elif member.recipe in scales:
            found[member] = scales[member.recipe].predict(member, grid, length)
    return found


def with_pieces(weight: Weight, candidate: Candidate, whole: int) -> Weight:
    """What a candidate weighs, of which the file with the whole vocabulary was measured."""
    return weight._replace(megabytes=weight.megabytes - (whole - candidate.pieces) * table_bytes(candidate) / 1e6)


def _line(places: Sequence[float], values: list[float]) -> tuple[float, float]:
    """Where a line begins and how it rises; through one place, or where it would fall, it is flat."""
    if len({*places}) < 2:
        return statistics.fmean(values), 0.0
    line = statistics.linear_regression(places, values)
    return (line.intercept, line.slope) if line.slope > 0 else (max(values), 0.0)
