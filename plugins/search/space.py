"""The search space: the settings of a job that are tried, and their values."""

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Self

from components.dsl.errors import InputError, nearest
from keras_bert.tasks.registry import TASKS
from pipeline.capabilities import enabled_capabilities, split_job
from pipeline.job.files import Tables, make_settings
from pipeline.settings.graphs import check_float_layers, graph_of
from pipeline.settings.schema import Settings
from plugins.search.capability import TrainingSpace, search_settings

Scale = Literal["choices", "linear", "logarithmic"]
SearchStage = Literal["teacher", "student"]

POOLING, DEPTH = "pooling", "student.num_layers"
# The tables of trainings whose settings are searched, by the model that they make.
_TRAININGS: dict[SearchStage, str] = {"teacher": "fine_tuning", "student": "distillation"}
# Ranges around the job's values: factors, and the least decay from a block to the one below.
_RATE_FACTOR, _LENGTH_FACTOR, _LEAST_DECAY = 5.0, 2.0, 0.7
# Digits of a value within a range: more make no difference, and fewer different values share more trainings.
_DIGITS = 2


class Dimension(NamedTuple):
    """A setting that is searched."""

    name: str
    scale: Scale
    values: tuple[Any, ...]
    default: Any

    @classmethod
    def of(cls, name: str, values: Sequence[Any], default: Any) -> Self:
        """The dimension of a setting; for depth, pooling and batch size it is a list of values."""
        if name in (POOLING, DEPTH) or name.endswith(".batch_size"):
            return cls(name, "choices", tuple(values), default)
        return cls(name, "linear" if name.endswith(".layer_decay") else "logarithmic", tuple(values), default)

    @property
    def is_whole(self) -> bool:
        """Whether the values of the range are whole numbers."""
        return self.scale != "choices" and all(isinstance(value, int) for value in self.values)

    def allows(self, value: Any) -> bool:
        """Whether a value is one of the choices, or lies in the range."""
        return value in self.values if self.scale == "choices" else self.values[0] <= value <= self.values[1]

    def round(self, value: Any) -> Any:
        """A value of the range with two digits; an end if that lies outside of it."""
        if self.scale == "choices":
            return value
        return min(max(value if self.is_whole else _round(value), self.values[0]), self.values[1])


def find_space(
    tables: Tables, settings: Settings, names: Sequence[str] = ()
) -> dict[SearchStage, tuple[Dimension, ...]]:
    """The settings to search for the teacher and for the student, without models that have none."""
    candidates = _candidates(tables, settings)
    for name in names:
        if name not in candidates:
            raise InputError(f"--space must name settings of this job, got {name!r}{nearest(name, candidates)}")
    chosen = {name: dimension for name, dimension in candidates.items() if name in (names or candidates)}
    searched = [dimension for dimension in chosen.values() if len(dimension.values) > 1]
    if not searched:
        raise InputError(
            "--space and [search] must leave a setting with several values to search, got "
            f"{', '.join(chosen) or 'none'}"
        )
    stages: Mapping[SearchStage, Callable[[str], bool]] = {
        "teacher": lambda name: name == POOLING or name.startswith(_TRAININGS["teacher"]),
        "student": lambda name: name == DEPTH or name.startswith(_TRAININGS["student"]),
    }
    space = {
        stage: tuple(dimension for dimension in searched if is_of(dimension.name)) for stage, is_of in stages.items()
    }
    return {stage: dimensions for stage, dimensions in space.items() if dimensions}


def apply_values(tables: Tables, values: Mapping[str, Any]) -> Tables:
    """A copy of a job's tables with other values; a depth that the job has keeps the job's choice of layers."""
    changed = copy.deepcopy(tables)
    for name, value in values.items():
        section, _, key = name.rpartition(".")
        table = changed.setdefault(section, {}) if section else changed
        if name == DEPTH and "layers" in table:
            if len(table["layers"]) == value:
                continue
            del table["layers"]
        table[key] = value
    return changed


def _candidates(tables: Tables, settings: Settings) -> dict[str, Dimension]:
    """All settings that may be searched, by name; those that the user narrowed to one value have one."""
    table = search_settings(settings)
    chosen = {POOLING: table.pooling, DEPTH: table.student.num_layers}
    defaults: dict[str, tuple[Sequence[Any], Any]] = {}
    if any(TASKS[kind].needs_pooling for kind in _kinds(settings)):
        pooling = settings.pooling or "mean"
        defaults[POOLING] = (pooling, "cls" if pooling == "mean" else "mean"), pooling
    trains = {"teacher": not _why_untrained(settings), "student": settings.student is not None}
    for stage, section in _TRAININGS.items():
        space: TrainingSpace = getattr(table, section)
        chosen |= {f"{section}.{name}": values for name, values in vars(space).items()}
        if trains[stage]:
            defaults |= _training_values(section, getattr(settings, section))
    # The number of layers of the job's student; None if that is known only in the run.
    student = settings.student
    depth = None if student is None else len(student.layers or ()) or student.num_layers or graph_of(settings).layers
    if depth is not None and settings.general_distillation is None:
        defaults[DEPTH] = (depth, math.ceil(2 * depth / 3), math.ceil(depth / 3)), depth
    for name, values in chosen.items():
        if values is not None and name not in defaults:
            raise InputError(f"search.{name} must be left out{_reason_of_absence(name, settings)}")
    candidates = {}
    for name, (usual, default) in defaults.items():
        values = chosen[name]
        if values is None:
            allowed = usual
            if Dimension.of(name, (), None).scale == "choices":
                allowed = [value for value in dict.fromkeys(usual) if _suits(tables, name, value)]
        else:
            if len(values) == 1 and values[0] != default:
                raise InputError(
                    f"search.{name} must hold several values to search, or the job's alone, {default!r}, got "
                    f"{list(values)}"
                )
            for value in values:
                _check_value(tables, name, value)
            allowed = values
        candidates[name] = Dimension.of(name, tuple(dict.fromkeys(allowed)), default)
    return candidates


def _training_values(section: str, training: Any) -> dict[str, tuple[Sequence[Any], Any]]:
    """The usual values of a training's settings, and the job's."""
    rate, decay, batch, steps = (
        getattr(training, name) for name in ("learning_rate", "layer_decay", "batch_size", "steps")
    )
    length = training.epochs if steps is None else steps
    ends = (_round(length / _LENGTH_FACTOR), _round(length * _LENGTH_FACTOR))
    whole_ends = (max(1, math.floor(ends[0])), math.ceil(ends[1]))
    sizes = [batch, batch // 2, 2 * batch] if batch > 1 else [batch, 2 * batch]
    return {
        f"{section}.learning_rate": ((_round(rate / _RATE_FACTOR), _round(rate * _RATE_FACTOR)), rate),
        f"{section}.{'epochs' if steps is None else 'steps'}": (ends if steps is None else whole_ends, length),
        f"{section}.batch_size": (sizes, batch),
        f"{section}.layer_decay": ((min(_LEAST_DECAY, decay), 1.0), decay),
    }


def _round(value: float) -> float:
    return float(f"{value:.{_DIGITS - 1}e}")


def _suits(tables: Tables, name: str, value: Any) -> bool:
    try:
        _check_value(tables, name, value)
    except InputError:
        return False
    return True


def _check_value(tables: Tables, name: str, value: Any) -> None:
    """Raises InputError if a job with this value would be refused."""
    settings = make_settings(apply_values(tables, {name: value}))
    if name != DEPTH:
        return
    assert settings.student is not None
    layers = graph_of(settings).layers
    if layers is not None:
        if value > layers and settings.student.hidden_size is None:
            raise InputError(f"search.{DEPTH} must be at most {layers}, the teacher's layers, got {value}")
        try:
            settings.distillation.check_layers(value, layers)
        except ValueError as error:
            raise InputError(f"search.{DEPTH} does not suit the job's imitation: {error}") from None
    check_float_layers(settings)


def _kinds(settings: Settings) -> list[str]:
    """The kinds of the tasks of a job."""
    return [job.examples.task for job in split_job(settings).values() if job.examples is not None]


def _why_untrained(settings: Settings) -> str:
    return "".join(capability.why_untrained(table) for capability, table in enabled_capabilities(settings))


def _reason_of_absence(name: str, settings: Settings) -> str:
    """Why a job does not have a setting, as the end of an error."""
    section, _, key = name.rpartition(".")
    if name == POOLING:
        return f": {' and '.join(_kinds(settings))} reads the states of single tokens"
    if section == _TRAININGS["teacher"] and _why_untrained(settings):
        return _why_untrained(settings)
    if section in ("student", "distillation") and settings.student is None:
        return " without [student]"
    if name == DEPTH and settings.general_distillation is not None:
        return " beside [general_distillation], which each depth would need for itself"
    if name == DEPTH:
        return ": the number of the checkpoint's layers is known only in the run; set student.num_layers"
    if key == "steps":
        return f" where {section}.steps is not set; search.{section}.epochs is searched"
    return f" where {section}.steps is set; search.{section}.steps is searched"
