"""Which models a search may choose among: a grid of shapes, vocabularies and recipes below the teacher's."""

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, Self

from keras_bert.config import EncoderConfig
from keras_bert.options.quantization import RECIPES, RecipeName
from keras_bert.options.student import Student
from pipeline.settings.schema import QuantizationSettings, Settings

# The coarser come later: what one recipe keeps, none behind it keeps better.
_COARSER: tuple[RecipeName, ...] = (
    *("float16", "mixed_wi8_ai8", "dynamic_wi8", "static_wi8_ai8"),
    *("weights_wi4_block32", "weights_wi4"),
)
# Those that stand in the grid beside the job's own.
_COARSE: tuple[RecipeName, ...] = ("weights_wi4_block32", "weights_wi4")
_CALLED: dict[RecipeName, str] = {
    "mixed_wi8_ai8": "mi8",
    "dynamic_wi8": "di8",
    "static_wi8_ai8": "si8",
    "weights_wi4": "wi4",
    "weights_wi4_block32": "wi4b",
    "float16": "f16",
}
# Shares of the teacher's that the grid has.
_LAYERS = (1, 3 / 4, 2 / 3, 1 / 2, 1 / 3, 1 / 4, 1 / 6)
_WIDTHS = (1, 1 / 2, 1 / 4)
_RANKS = (1, 1 / 3, 1 / 6)
# Of the pieces of validation rows: with fewer texts become long, as words are spelt. What fewer cost, trainings tell.
_LEAST_KEPT = 0.9


class Candidate(NamedTuple):
    """A student, and how its file is rounded; each field but the last is better when it is larger.

    Attributes:
        layers: encoder blocks.
        heads: of each.
        units: of each feed-forward layer.
        rank: columns of the table of pieces; the width of a vector where the table is no product.
        pieces: of the vocabulary.
        recipe: of the rounding.
    """

    layers: int
    heads: int
    units: int
    rank: int
    pieces: int
    recipe: RecipeName

    def values(self) -> tuple[int, ...]:
        """How much there is of all, as numbers that grow."""
        return (*self[:5], -_COARSER.index(self.recipe))


class Grid(NamedTuple):
    """All candidates of a job.

    Attributes:
        teacher: the shape that they are smaller than.
        levels: of each field of a candidate, the values from the most down.
        members: the candidates.
    """

    teacher: EncoderConfig
    levels: tuple[tuple[Any, ...], ...]
    members: frozenset[Candidate]

    @classmethod
    def of(cls, settings: Settings, survey: Mapping[str, Any]) -> Self:
        """What a `Survey` and the job allow."""
        teacher = EncoderConfig.from_dict(survey["config"])
        own, free = settings.student or Student(num_layers=teacher.num_layers), survey["may_lose_parts"]
        own_layers = len(own.layers or ()) or own.num_layers
        whole = teacher.embedding_rank or teacher.embedding_size or teacher.hidden_size
        ranked = teacher.variant is None and teacher.embedding_rank is None
        levels = (
            _levels(teacher.num_layers, _LAYERS, own_layers, also=(1,)),
            _levels(teacher.num_heads, _WIDTHS if free else (1,), own.num_heads if free else None),
            _levels(teacher.intermediate_size, _WIDTHS if free else (1,), own.intermediate_size if free else None),
            _levels(whole, _RANKS if ranked else (1,), own.embedding_rank if ranked else None),
            tuple(entry["size"] for entry in _vocabularies(settings, survey["pieces"])),
            _recipes(settings),
        )
        members = (Candidate(*each) for each in itertools.product(*levels))
        return cls(teacher, levels, frozenset(each for each in members if _can_learn(each, settings, teacher)))

    def name(self, candidate: Candidate) -> str:
        """What is left of the teacher, as `l4-h6-f768-r128-v2000-wi4`; what is whole is not named, but for layers."""
        marks = zip("lhfrv", candidate[:5], self.levels, strict=False)
        told = [f"{mark}{value}" for mark, value, levels in marks if mark == "l" or value != levels[0]]
        return "-".join([*told, _CALLED[candidate.recipe]])

    def larger(self, candidate: Candidate) -> Iterator[Candidate]:
        """Those with one field a level higher."""
        for place, levels in enumerate(self.levels):
            higher = levels.index(candidate[place]) - 1
            if higher >= 0:
                larger = candidate._replace(**{candidate._fields[place]: levels[higher]})
                if larger in self.members:
                    yield larger

    def shape(self, candidate: Candidate, settings: Settings) -> Student:
        """The options of the student, its layers those of the job where it has as many."""
        return _shape(candidate, settings, self.teacher)

    def config(self, candidate: Candidate) -> EncoderConfig:
        """The student's encoder."""
        teacher = EncoderConfig(**{**vars(self.teacher), "vocabulary_size": candidate.pieces})
        return _shape(candidate, None, self.teacher).config(teacher, teacher.max_length)

    def recipes(self) -> list[RecipeName]:
        """Of the members, the finest first."""
        return [recipe for recipe in self.levels[5] if any(each.recipe == recipe for each in self.members)]

    def ends(self, recipe: RecipeName) -> list[Candidate]:
        """Two candidates with a recipe and all pieces, of which lines can be drawn: the smallest, and one that is wide.

        To weigh the deepest, too, takes long, and few limits leave room for it. One where these are the same.
        """
        with_all = [each for each in self.members if each.recipe == recipe and each.pieces == self.levels[4][0]]
        depths = sorted({each.layers for each in with_all})
        wide = max(each for each in with_all if each.layers <= depths[len(depths) // 2])
        return sorted({min(with_all), wide})


def settings_of(candidate: Candidate, grid: Grid, settings: Settings, share: float | None) -> Settings:
    """The job with this student and this rounding.

    Args:
        candidate: one of the grid.
        grid: of the job.
        settings: of the job.
        share: of the job's distillation, the student then rounded as it is; None for the job's own training of both.
    """
    own = settings.quantization or QuantizationSettings()
    # Layers that a doctor left float are those of another model.
    changed: dict[str, Any] = {"recipe": candidate.recipe, "float_layers": ()}
    distillation = settings.distillation
    if share is not None:
        changed["post_training"] = True
        steps = None if distillation.steps is None else max(1, round(share * distillation.steps))
        distillation = _replaced(distillation, steps=steps, epochs=share * distillation.epochs)
    update = {
        "student": grid.shape(candidate, settings),
        "quantization": _replaced(own, **changed),
        "distillation": distillation,
    }
    return settings.model_copy(update=update)


def _replaced(table: Any, **changes: Any) -> Any:
    """A copy with other values; `dataclasses.replace` would ask fields of a base class for their own types."""
    return type(table)(**{**vars(table), **changes})


def _levels(whole: int, shares: Iterable[float], own: int | None, also: Iterable[int] = ()) -> tuple[int, ...]:
    """Numbers below a whole one, falling; the job's own is one of them."""
    found = {max(1, int(share * whole)) for share in shares} | {*also}
    return tuple(sorted(found | ({own} if own is not None and own <= whole else set()), reverse=True))


def _vocabularies(settings: Settings, pieces: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Those that leave rows whole; the teacher's alone if its answers are rows, or parts stand beside layers."""
    fixed = settings.transfer or settings.unlabelled or settings.adaptation
    first, *fewer = pieces
    return [first, *(entry for entry in fewer if not fixed and entry["kept_share"] >= _LEAST_KEPT)]


def _recipes(settings: Settings) -> tuple[RecipeName, ...]:
    own = (settings.quantization or QuantizationSettings()).recipe
    return tuple(name for name in _COARSER if name == own or name in _COARSE)


def _shape(candidate: Candidate, settings: Settings | None, teacher: EncoderConfig) -> Student:
    own = None if settings is None or settings.student is None else settings.student.layers
    layers = own if own is not None and len(own) == candidate.layers else None
    whole = teacher.embedding_rank or teacher.embedding_size or teacher.hidden_size
    return Student(
        num_layers=candidate.layers if layers is None else None,
        layers=layers,
        num_heads=candidate.heads if candidate.heads != teacher.num_heads else None,
        intermediate_size=candidate.units if candidate.units != teacher.intermediate_size else None,
        embedding_rank=candidate.rank if candidate.rank != whole else None,
    )


def _can_learn(candidate: Candidate, settings: Settings, teacher: EncoderConfig) -> bool:
    """Whether the shape is one, its kernels can be rounded so, and the job's distillation goes with it."""
    own = settings.distillation
    try:
        config = _shape(candidate, settings, teacher).config(teacher, teacher.max_length)
        own.check_layers(config.num_layers, teacher.num_layers)
        own.check_heads(config.num_heads, teacher.num_heads)
        width, whole = (each.attention_size or each.hidden_size for each in (config, teacher))
        own.check_widths(width, whole, teacher.num_heads)
    except ValueError:
        return False
    block = RECIPES[candidate.recipe].block
    inputs = (config.hidden_size, width, config.intermediate_size, config.embedding_size or config.hidden_size)
    return block is None or all(size % block == 0 for size in inputs)
