"""Predicts size and latency of candidates from their configuration, calibrated with measured candidates."""

import statistics
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Self

from keras_bert.core.config import EncoderConfig
from keras_bert.options.quantization import RECIPES, RecipeName
from plugins.search.candidates import Candidate, Grid

# Bytes of a scale: a float32 an output unit, or a float16 a block of 32 weights.
_SCALE_BYTES, _BLOCK_SCALE_BYTES = 4, 2
_FLOAT_BYTES = 4


class Footprint(NamedTuple):
    """Sizes of a candidate's file, and latency of a text of maximum length on one thread.

    `table_share`: the size of the token table after deflate, as a share of its size before.
    """

    megabytes: float
    download_megabytes: float
    milliseconds: float
    table_share: float = 1.0


def table_bytes(candidate: Candidate) -> int:
    """Bytes of a token's embedding in the file."""
    return candidate.rank * (1 if RECIPES[candidate.recipe].integers else 2)


def weights_bytes(config: EncoderConfig, candidate: Candidate) -> float:
    """Bytes of everything that grows with the shape: embedding, kernels with scales, biases and normalizations."""
    recipe, hidden, units = RECIPES[candidate.recipe], config.hidden_size, config.intermediate_size
    width = config.attention_size or hidden
    kernels, outputs = 4 * hidden * width + 2 * hidden * units, 3 * width + 2 * hidden + units
    scales = kernels / recipe.block * _BLOCK_SCALE_BYTES if recipe.block else outputs * _SCALE_BYTES
    block = kernels * recipe.weight_bits / 8 + scales + (outputs + 4 * hidden) * _FLOAT_BYTES
    blocks = 1 if config.shared_layers else config.num_layers
    factor = 0 if config.embedding_rank is None else candidate.rank * (config.embedding_size or hidden) * _FLOAT_BYTES
    return blocks * block + candidate.vocabulary_size * table_bytes(candidate) + factor


def count_operations(config: EncoderConfig, length: int) -> float:
    """Multiplications for a text of `length` tokens."""
    hidden, width = config.hidden_size, config.attention_size or config.hidden_size
    block = length * (4 * hidden * width + 2 * hidden * config.intermediate_size) + 2 * length**2 * width
    factor = 0 if config.embedding_rank is None else config.embedding_rank * (config.embedding_size or hidden)
    return config.num_layers * block + length * factor


class FootprintModel(NamedTuple):
    """Predicts footprints for one recipe; `an_operation`: milliseconds of a multiplication.

    `download_share`: the size of all but the token table after deflate, as a share of its size before; it hardly
    depends on the shape. `table_shares`: by rank of the table, see `Footprint`.
    """

    bytes_fixed: float
    bytes_a_layer: float
    fixed: float
    an_operation: float
    download_share: float
    table_shares: dict[int, float]

    @classmethod
    def fit(cls, measured: Mapping[Candidate, Footprint], grid: Grid, length: int) -> Self:
        """Fits lines by least squares to the measured candidates of one recipe."""
        configs = {candidate: grid.config(candidate) for candidate in measured}
        layers = [candidate.layers for candidate in measured]
        overheads = [
            1e6 * footprint.megabytes - weights_bytes(configs[candidate], candidate)
            for candidate, footprint in measured.items()
        ]
        operations = [count_operations(config, length) for config in configs.values()]
        fixed_bytes, layer_bytes = _fit_line(layers, overheads)
        fixed, rate = _fit_line(operations, [footprint.milliseconds for footprint in measured.values()])
        shares = []
        for candidate, footprint in measured.items():
            table = candidate.vocabulary_size * table_bytes(candidate) / 1e6
            rest = footprint.download_megabytes - footprint.table_share * table
            shares.append(rest / (footprint.megabytes - table))
        tables = {candidate.rank: footprint.table_share for candidate, footprint in measured.items()}
        return cls(fixed_bytes, layer_bytes, fixed, rate, statistics.fmean(shares), tables)

    def predict(self, candidate: Candidate, grid: Grid, length: int) -> Footprint:
        """The predicted footprint of a candidate that was not measured."""
        config = grid.config(candidate)
        size = weights_bytes(config, candidate) + self.bytes_fixed + self.bytes_a_layer * candidate.layers
        table = candidate.vocabulary_size * table_bytes(candidate)
        share = self.table_shares[min(self.table_shares, key=lambda rank: abs(rank - candidate.rank))]
        download = self.download_share * (size - table) + share * table
        milliseconds = self.fixed + self.an_operation * count_operations(config, length)
        return Footprint(size / 1e6, download / 1e6, milliseconds, share)


def predict_all(grid: Grid, measured: Mapping[Candidate, Footprint], length: int) -> dict[Candidate, Footprint]:
    """The footprints of all members of a grid, measured or predicted.

    A candidate counts as measured if it was measured with the whole vocabulary: a smaller one only removes rows.
    """
    whole = grid.whole_vocabulary
    models: dict[RecipeName, FootprintModel] = {}
    for recipe in {candidate.recipe for candidate in measured}:
        of_recipe = {candidate: value for candidate, value in measured.items() if candidate.recipe == recipe}
        models[recipe] = FootprintModel.fit(of_recipe, grid, length)
    footprints = {}
    for member in grid.members:
        footprint = measured.get(member._replace(vocabulary_size=whole))
        if footprint is not None:
            footprints[member] = reduce_footprint(footprint, member, whole)
        elif member.recipe in models:
            footprints[member] = models[member.recipe].predict(member, grid, length)
    return footprints


def reduce_footprint(footprint: Footprint, candidate: Candidate, whole: int) -> Footprint:
    """The footprint of a candidate, from the one measured with the whole vocabulary of `whole` tokens."""
    saved = (whole - candidate.vocabulary_size) * table_bytes(candidate) / 1e6
    download = footprint.download_megabytes - footprint.table_share * saved
    return footprint._replace(megabytes=footprint.megabytes - saved, download_megabytes=download)


def _fit_line(x: Sequence[float], y: list[float]) -> tuple[float, float]:
    """Intercept and slope of a least-squares line; flat for a single point or a negative slope."""
    if len({*x}) < 2:
        return statistics.fmean(y), 0.0
    line = statistics.linear_regression(x, y)
    return (line.intercept, line.slope) if line.slope > 0 else (max(y), 0.0)
