"""The search space: a grid of student shapes, vocabulary sizes and quantization recipes below the teacher's."""

import itertools
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Self

from components.dsl.errors import InputError
from keras_bert.core.config import EncoderConfig
from keras_bert.options.compression import Student
from keras_bert.options.quantization import RecipeName, undivided_inputs
from keras_bert.options.tables import QuantizationSettings
from pipeline.settings.runtimes import check_runtimes
from pipeline.settings.schema import FittedVocabulary, Settings
from plugins.search.artifacts import SearchBounds

# From the most to the least precise: no recipe keeps more than the ones before it.
_BY_PRECISION: tuple[RecipeName, ...] = (
    *("float16", "static_wi8_ai16", "mixed_wi8_ai8", "dynamic_wi8", "static_wi8_ai8"),
    *("weights_wi4_block32", "weights_wi4"),
)
# The recipes in the grid besides the job's.
_FOUR_BIT: tuple[RecipeName, ...] = ("weights_wi4_block32", "weights_wi4")
_SHORT_NAMES: dict[RecipeName, str] = {
    "mixed_wi8_ai8": "mi8",
    "dynamic_wi8": "di8",
    "static_wi8_ai8": "si8",
    "static_wi8_ai16": "si16",
    "weights_wi4": "wi4",
    "weights_wi4_block32": "wi4b",
    "float16": "f16",
}
# The levels of the grid as shares of the teacher's values.
_LAYERS = (1, 3 / 4, 2 / 3, 1 / 2, 1 / 3, 1 / 4, 1 / 6)
_WIDTHS = (1, 1 / 2, 1 / 4)
_RANKS = (1, 1 / 3, 1 / 6)
# The minimum share of the tokens of validation rows that a vocabulary keeps. With a smaller one texts become long,
# because words are spelled; the loss of accuracy shows in the trainings.
_LEAST_KEPT = 0.9


class Candidate(NamedTuple):
    """A student shape with its vocabulary size and quantization recipe."""

    layers: int
    heads: int
    units: int
    rank: int
    vocabulary_size: int
    recipe: RecipeName

    def values(self) -> tuple[int, ...]:
        """All fields as numbers of which more is better."""
        return (*self[:5], -_BY_PRECISION.index(self.recipe))


class Grid(NamedTuple):
    """The candidates of a job; `levels`: descending values of every field of a candidate."""

    settings: Settings
    teacher: EncoderConfig
    levels: tuple[tuple[Any, ...], ...]
    members: frozenset[Candidate]

    @classmethod
    def of(cls, settings: Settings, bounds: SearchBounds) -> Self:
        """The candidates within the bounds that the job can train; the job's student is one of them."""
        teacher = bounds.config
        student, free = settings.student or Student(num_layers=teacher.num_layers), bounds.has_prunable_blocks
        student_layers = len(student.layers or ()) or student.num_layers
        whole = teacher.embedding_rank or teacher.embedding_size or teacher.hidden_size
        ranked = teacher.variant is None and teacher.embedding_rank is None
        # Rows with answers or negatives of a model, a teacher with an adapter, and several tasks, which are no
        # [examples], keep the vocabulary.
        tables = ("teacher_labels", "unlabelled", "adaptation", "hard_negatives", "reranker")
        fixed = settings.examples is None or any(getattr(settings, name) is not None for name in tables)
        first, *others = bounds.vocabularies
        fewer = [entry.size for entry in others if entry.kept_share >= _LEAST_KEPT]
        recipe = (settings.quantization or QuantizationSettings()).recipe
        levels = (
            _levels(teacher.num_layers, _LAYERS, student_layers, also=(1,)),
            _levels(teacher.num_heads, _WIDTHS if free else (1,), student.num_heads if free else None),
            _levels(teacher.intermediate_size, _WIDTHS if free else (1,), student.intermediate_size if free else None),
            _levels(whole, _RANKS if ranked else (1,), student.embedding_rank if ranked else None),
            (first.size, *([] if fixed else fewer)),
            tuple(
                name for name in _BY_PRECISION if name == recipe or (name in _FOUR_BIT and _can_export(settings, name))
            ),
        )
        grid = cls(settings, teacher, levels, frozenset())
        combinations = (Candidate(*values) for values in itertools.product(*levels))
        return grid._replace(members=frozenset(filter(grid._can_learn, combinations)))

    @property
    def whole_vocabulary(self) -> int:
        """The size of the teacher's vocabulary."""
        size: int = self.levels[4][0]
        return size

    def name(self, candidate: Candidate) -> str:
        """A name such as `l4-h6-f768-r128-v2000-wi4`; fields that equal the teacher's are left out, except layers."""
        marks = zip("lhfrv", candidate[:5], self.levels, strict=False)
        parts = [f"{mark}{value}" for mark, value, levels in marks if mark == "l" or value != levels[0]]
        return "-".join([*parts, _SHORT_NAMES[candidate.recipe]])

    def larger(self, candidate: Candidate) -> Iterator[Candidate]:
        """The candidates with one field one level higher."""
        for place, levels in enumerate(self.levels):
            higher = levels.index(candidate[place]) - 1
            if higher >= 0:
                larger = candidate._replace(**{candidate._fields[place]: levels[higher]})
                if larger in self.members:
                    yield larger

    def shape(self, candidate: Candidate) -> Student:
        """The student options of a candidate; the job's choice of layers is used if their number is equal."""
        teacher, student = self.teacher, self.settings.student
        layers = None if student is None else student.layers
        if layers is None or len(layers) != candidate.layers:
            layers = None
        whole = teacher.embedding_rank or teacher.embedding_size or teacher.hidden_size
        return Student(
            num_layers=candidate.layers if layers is None else None,
            layers=layers,
            num_heads=candidate.heads if candidate.heads != teacher.num_heads else None,
            intermediate_size=candidate.units if candidate.units != teacher.intermediate_size else None,
            embedding_rank=candidate.rank if candidate.rank != whole else None,
        )

    def config(self, candidate: Candidate) -> EncoderConfig:
        """The encoder configuration of a candidate."""
        teacher = EncoderConfig(**{**vars(self.teacher), "vocabulary_size": candidate.vocabulary_size})
        return self.shape(candidate).config(teacher, teacher.max_length)

    def settings_of(self, candidate: Candidate, share: float | None = None) -> Settings:
        """The job's settings with the student, the recipe and the vocabulary of a candidate."""
        distillation = self.settings.distillation
        # `float_layers` of the job were chosen for another model.
        quantization: dict[str, Any] = {"recipe": candidate.recipe, "float_layers": ()}
        if share is not None:
            quantization["post_training"] = True
            steps = None if distillation.steps is None else max(1, round(share * distillation.steps))
            distillation = _replaced(distillation, steps=steps, epochs=share * distillation.epochs)
        update = {
            "student": self.shape(candidate),
            "quantization": _replaced(self.settings.quantization or QuantizationSettings(), **quantization),
            "distillation": distillation,
        }
        if candidate.vocabulary_size != self.whole_vocabulary:
            update["fitted_vocabulary"] = FittedVocabulary(size=candidate.vocabulary_size)
        if tasks := getattr(self.settings, "tasks", None):
            # Models of single tasks, which a table of scores compares, would be trained after the time of the search.
            update["tasks"] = {name: _replaced(task, compare_single=False) for name, task in tasks.items()}
        return self.settings.model_copy(update=update)

    def tables(self, candidate: Candidate) -> dict[str, dict[str, Any]]:
        """The tables of a candidate that differ from the job's."""
        settings = self.settings_of(candidate)
        tables: dict[str, dict[str, Any]] = {
            "student": {name: value for name, value in vars(settings.student).items() if value is not None},
            "quantization": {"recipe": candidate.recipe},
        }
        if self.settings.quantization is not None and self.settings.quantization.float_layers:
            tables["quantization"]["float_layers"] = []
        if candidate.vocabulary_size != self.whole_vocabulary:
            tables["fitted_vocabulary"] = {"size": candidate.vocabulary_size}
            if self.settings.fitted_vocabulary is not None and self.settings.fitted_vocabulary.min_count != 1:
                tables["fitted_vocabulary"]["min_count"] = 1  # a size has no minimum beside it
        return tables

    def recipes(self) -> list[RecipeName]:
        """The recipes of the members, the most precise first."""
        member_recipes = {candidate.recipe for candidate in self.members}
        return [recipe for recipe in self.levels[5] if recipe in member_recipes]

    def ends(self, recipe: RecipeName) -> list[Candidate]:
        """The smallest and a wide candidate with a recipe and the whole vocabulary, to fit lines through.

        Measuring the deepest candidate takes long, and few limits leave room for it. If both are the same, one.
        """
        whole = self.whole_vocabulary
        candidates = [member for member in self.members if (member.recipe, member.vocabulary_size) == (recipe, whole)]
        depths = sorted({candidate.layers for candidate in candidates})
        wide = max(candidate for candidate in candidates if candidate.layers <= depths[len(depths) // 2])
        return sorted({min(candidates), wide})

    def _can_learn(self, candidate: Candidate) -> bool:
        """Whether the shape is valid, its kernels suit the recipe, and the job's distillation suits the shape."""
        teacher, distillation = self.teacher, self.settings.distillation
        try:
            config = self.shape(candidate).config(teacher, teacher.max_length)
            distillation.check_layers(config.num_layers, teacher.num_layers)
            distillation.check_heads(config.num_heads, teacher.num_heads)
            width = config.attention_size or config.hidden_size
            distillation.check_widths(width, teacher.attention_size or teacher.hidden_size, teacher.num_heads)
        except ValueError:
            return False
        return not undivided_inputs(candidate.recipe, config)


def _can_export(settings: Settings, recipe: RecipeName) -> bool:
    """Whether the runtimes and accelerators of a job take files of a recipe."""
    quantization = _replaced(settings.quantization or QuantizationSettings(), recipe=recipe, float_layers=())
    try:
        check_runtimes(settings.model_copy(update={"quantization": quantization}))
    except InputError:
        return False
    return True


def _replaced(table: Any, **changes: Any) -> Any:
    """A copy with changed values; unlike `dataclasses.replace` it also works for fields of base classes."""
    return type(table)(**{**vars(table), **changes})


def _levels(whole: int, shares: Iterable[float], of_job: int | None, also: Iterable[int] = ()) -> tuple[int, ...]:
    """Descending levels: shares of the teacher's value, the job's value, and further ones."""
    levels = {max(1, int(share * whole)) for share in shares} | {*also}
    return tuple(sorted(levels | ({of_job} if of_job is not None and of_job <= whole else set()), reverse=True))
