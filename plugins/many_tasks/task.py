"""The task `many_tasks`: several tasks of any kinds on one encoder."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from keras_bert.core.checks import check
from keras_bert.core.folders import END_LOGITS, LOGITS, SENTENCE_VECTOR, START_LOGITS, TASK_FILE, read_json_file
from keras_bert.data.schemas import Feature
from keras_bert.export.runtimes import PROBABILITIES
from keras_bert.options.quantization import RECIPES, RecipeName
from keras_bert.tasks.answer_columns import ColumnType
from keras_bert.tasks.base import Features, Runtime, Task, slices
from keras_bert.tasks.calibration import Calibration, calibration_of
from keras_bert.tasks.checks import as_texts, check_same_length, is_keras_model
from keras_bert.tasks.embedding import Embedding
from keras_bert.tasks.retrieval import Retrieval
from plugins.many_tasks.outputs import OutputOf, Remembered, open_part

if TYPE_CHECKING:
    import keras

    from keras_bert.adaptation.adapter import Adapter
    from keras_bert.options.adaptation import Adaptation
    from keras_bert.tokenizers.base import BaseTokenizer

_NAME = re.compile(r"[a-z][a-z0-9_]*")
# Names of signatures of all tasks, and of outputs that say what is in a file of one task.
_TAKEN = ("serve", "all", LOGITS, PROBABILITIES, START_LOGITS, END_LOGITS, SENTENCE_VECTOR)
# The metric 1 / (1 + loss) of a task among others. The weights of the best validation have the best mean of all tasks:
# a loss has no bound, so that one task would decide alone, and this metric is between 0 and 1, as accuracy is.
CLOSENESS = "closeness"
# The number of texts whose outputs are in memory at once.
_TEXTS_AT_ONCE = 1024


class ManyTasks(Task):
    """Tasks of any kinds on one encoder, which are trained, compressed and exported together.

    `predict` answers all tasks of a text with one run of the encoder; `tasks` has each task by name, a task as any
    other, whose weights are those of this one.

    Args:
        tasks: the tasks by name, built on one encoder: `Kind.build(base.encoder, base.tokenizer, ...)`.
        model: the joint model; None to make it of the tasks.
        shares: a factor of the loss of a task in joint trainings; 1 for tasks that it does not name.

    Raises:
        ValueError: a name is not of small letters, digits and underscores, or is taken; or the tasks have different
            encoders or tokenizers, an adapter, or a head that cannot be joined; or a factor is not positive.

    Examples:
        >>> kind = keras_bert.TASKS["regression"]
        >>> stars = kind.build(task.encoder, task.tokenizer, max_length=16)
        >>> many = ManyTasks({"mood": task, "stars": stars})
        >>> sorted(many.predict(["film"])[0])
        ['mood', 'stars']
    """

    name = "many_tasks"
    has_parts = True
    schema: ClassVar[Mapping[str, Feature]] = {}

    def __init__(
        self,
        tasks: Mapping[str, Task],
        model: keras.Model | Runtime | None = None,
        *,
        shares: Mapping[str, float] | None = None,
    ) -> None:
        check("ManyTasks", "tasks", bool(tasks), "name at least one task", dict(tasks))
        # Files list names in this order, and the turns of a training depend on it.
        tasks = dict(sorted(tasks.items()))
        first = next(iter(tasks.values()))
        for name, task in tasks.items():
            check_name(name)
            check("ManyTasks", f"tasks[{name!r}]", task.adapter is None, "have no adapter: merge it first", "one")
            rule = "have the tokenizer of the other tasks"
            check("ManyTasks", f"tasks[{name!r}]", task.tokenizer is first.tokenizer, rule, "another one")
        if model is None:
            from plugins.many_tasks.joint import join_tasks

            model = join_tasks(tasks)
        self.tasks = tasks
        bounded = {"validation_loss": f"validation_{CLOSENESS}"} if len(tasks) > 1 else {}
        self.selected_by = tuple(  # type: ignore[misc]
            bounded.get(metric, metric).replace("validation", f"validation_{name}", 1)
            for name, task in tasks.items()
            for metric in task.selected_by
        )
        self.shares = {name: float((shares or {}).get(name, 1.0)) for name in tasks}
        positive = all(share > 0 for share in self.shares.values()) and set(shares or {}) <= set(tasks)
        check("ManyTasks", "shares", positive, f"be positive numbers for names of {', '.join(tasks)}", shares)
        super().__init__(model, first.tokenizer, max_length=max(task.max_length for task in tasks.values()))

    @classmethod
    def build(
        cls,
        encoder: keras.Model,
        tokenizer: BaseTokenizer,
        *,
        tasks: Mapping[str, Mapping[str, Any]],
        **settings: Any,
    ) -> Self:
        """Builds tasks on an encoder from plain settings: `task`, the kind, and the arguments of its `build`."""
        from keras_bert.tasks.registry import TASKS

        built = {}
        for name, values in tasks.items():
            kind = values.get("task")
            check("ManyTasks", f"tasks[{name!r}].task", kind in TASKS, f"be one of {sorted(TASKS)}", kind)
            arguments = {key: value for key, value in values.items() if key != "task"}
            built[name] = TASKS[str(kind)].build(encoder, tokenizer, **arguments)
        return cls(built, **settings)

    @classmethod
    def from_settings(cls, model: keras.Model | Runtime, tokenizer: BaseTokenizer, settings: Mapping[str, Any]) -> Self:
        from keras_bert.tasks.registry import TASKS, restore

        tasks = {}
        for name, values in settings["tasks"].items():
            plain = dict(values)
            kind = TASKS[plain.pop("task")]
            if is_keras_model(model):
                from plugins.many_tasks.joint import part_of

                part: Any = part_of(model, name, kind.output_name)
            else:
                part = open_part(model, name, kind.output_name)
            tasks[name] = restore(kind, part, tokenizer, plain, Path(TASK_FILE))
        return cls(tasks, model, shares=settings.get("shares"))

    def settings(self) -> dict[str, Any]:
        """`tasks`, the settings of each by name, and `shares` where they are not 1."""
        tasks = {
            name: {"task": task.name, **task.settings(), **task.learned_settings()} for name, task in self.tasks.items()
        }
        shares = {name: share for name, share in self.shares.items() if share != 1}
        return {"max_length": self.max_length, "tasks": tasks, **({"shares": shares} if shares else {})}

    def part(self, name: str) -> Task:
        """The task with a name."""
        check("ManyTasks", "task", name in self.tasks, f"be one of {', '.join(self.tasks)}", name)
        return self.tasks[name]

    def only(self, names: Sequence[str]) -> ManyTasks:
        """Some of the tasks, with the same weights."""
        chosen = {name: self.part(name) for name in names}
        return self if set(chosen) == set(self.tasks) else ManyTasks(chosen, shares=_of(self.shares, chosen))

    def rebuilt(self, encoder: keras.Model) -> Self:
        rebuilt = {name: task.rebuilt(encoder) for name, task in self.tasks.items()}
        return type(self)(rebuilt, shares=self.shares)

    @property
    def float_layers(self) -> tuple[str, ...]:  # type: ignore[override]
        """Those of all tasks, with the paths of `plugins.many_tasks.joint.named_apart`."""
        return tuple(f"{name}/{layer}" for name, task in self.tasks.items() for layer in task.float_layers)

    @property
    def drawn_weights(self) -> Mapping[str, Any]:
        """The random weights of the heads that are new, by task and path."""
        drawn = {name: task.drawn_weights for name, task in self.tasks.items()}
        return {f"{name}/{path}": array for name, weights in drawn.items() for path, array in weights.items()}

    @drawn_weights.setter
    def drawn_weights(self, weights: Mapping[str, Any]) -> None:
        for name, task in self.tasks.items():
            start = f"{name}/"
            task.drawn_weights = {
                path.removeprefix(start): array for path, array in weights.items() if path.startswith(start)
            }

    @property
    def calibration(self) -> Calibration:
        """None of its own; a training drops those of all tasks by setting this one."""
        return Calibration()

    @calibration.setter
    def calibration(self, calibration: Calibration) -> None:
        for task in self.tasks.values():
            task.calibration = calibration

    @property
    def pairs(self) -> bool | None:
        """Whether the tasks take pairs, as far as this is known; None if some take pairs and others single texts."""
        fixed = {"required": True, "unused": False}
        kinds = {fixed.get(task.second_text, task.pairs) for task in self.tasks.values()} - {None}
        return kinds.pop() if len(kinds) == 1 else None

    @pairs.setter
    def pairs(self, pairs: bool | None) -> None:
        """Changes nothing, as each task has its own."""

    def read_calibration(self, file: Path) -> None:
        """Takes the calibration of each task from the tables of a pushed model's `metrics.json`."""
        for name, table in read_json_file(file).get("tasks", {}).items():
            self.part(name).calibration = calibration_of(table.get("calibration"), file)

    @property
    def space(self) -> Any:
        """The identifiers of the spaces of tasks with vectors by name, which pruning and quantization keep."""
        return {name: task.space for name, task in self.tasks.items() if isinstance(task, Embedding)}

    @space.setter
    def space(self, spaces: Any) -> None:
        for name, space in spaces.items():
            self.tasks[name].space = space

    @property
    def quantization(self) -> Any:
        """The recipe and ranges of the joint model; paths in the heads start with the name of the task."""
        return self._quantization

    @quantization.setter
    def quantization(self, quantization: Any) -> None:
        Task.quantization.fset(self, quantization)  # type: ignore[attr-defined]
        for name, task in self.tasks.items():
            if is_keras_model(task.model):
                from plugins.many_tasks.joint import quantization_of

                task.quantization = quantization and quantization_of(task, name, quantization)

    def objective(self, class_weights: Any = None) -> Any:
        """The objective of batches that have rows of one task each; `class_weights` are those of tasks by name."""
        from plugins.many_tasks.objective import ManyObjective

        weights: Mapping[str, Any] = class_weights or {}
        for name, task in self.tasks.items():
            across = isinstance(task, Retrieval) and task.contrast.across_micro_batches
            rule = "be false among several tasks, whose passages are compared within a micro-batch"
            check("Contrast", f"across_micro_batches of {name}", not across, rule, True)
        objectives = {name: task.objective(weights.get(name)) for name, task in self.tasks.items()}
        return ManyObjective(objectives, self.shares)

    def training_rows(self, *data: Any, **pairs: Any) -> dict[str, Any]:
        """Refuses rows that are not named by their tasks, as those of `keras_bert.fit`."""
        raise ValueError(
            "ManyTasks must have rows by the names of tasks: call its method fit, and distill, prune and quantize of "
            "plugins.many_tasks.recipes; evaluate each of its tasks"
        )

    def adapt(self, adaptation: Adaptation) -> Adapter:
        """Refuses an adapter, which the tasks inside would not have."""
        raise ValueError("ManyTasks.adapter must be trained and merged before tasks are joined")

    def loss(self) -> dict[str, Any]:
        return {name: task.loss() for name, task in self.tasks.items()}

    def fit(self, *data: Any, **options: Any) -> Any:
        """Trains all tasks together, or some, see `plugins.many_tasks.recipes.fit`."""
        from plugins.many_tasks import recipes

        return recipes.fit(self, *data, **options)

    def export(self, path: Any, texts: Sequence[str] = (), **options: Any) -> None:
        """Writes one file with all tasks, see `plugins.many_tasks.files.export`."""
        from plugins.many_tasks.files import export

        export(self, path, texts, **options)

    def named_apart(self) -> AbstractContextManager[None]:
        """A context in which the layers of heads have different paths, see `plugins.many_tasks.joint.named_apart`."""
        from plugins.many_tasks.joint import named_apart

        return named_apart(self.model)

    def write_tflite(self, file: Path, lengths: Sequence[int], rows: Features | None = None) -> None:
        """Writes the graphs of `export` as they are, without comparing any answers: `search` measures such files.

        `rows` measure the ranges of activations, if the recipe needs them.
        """
        from plugins.many_tasks.files import write_tflite

        # As a job writes it: files hold the names of models, which are others for tasks that were never saved.
        saved = self.from_settings(self.model, self.tokenizer, self.settings())
        saved.quantization = self.quantization
        write_tflite(saved, file, lengths, rows)

    def predict(
        self, texts: Sequence[str], pairs: Sequence[str] | None = None, *, batch_size: int = 32
    ) -> list[dict[str, Any]]:
        """The answers of all tasks to each text or pair, by name; equal inputs run through the encoder once."""
        answers: list[dict[str, Any]] = []
        for firsts, seconds in _parts(texts, pairs):
            tasks, arguments = self._remembering(), (firsts,) if seconds is None else (firsts, seconds)
            with self._answering():
                columns = {name: task.predict(*arguments, batch_size=batch_size) for name, task in tasks.items()}
            answers += [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        return answers

    def answer_columns(self, *, paired: bool = False) -> dict[str, ColumnType]:
        """The columns of each task, with its name and an underscore before theirs."""
        columns = {name: task.answer_columns(paired=paired) for name, task in self.tasks.items()}
        return {f"{name}_{column}": kind for name, kinds in columns.items() for column, kind in kinds.items()}

    def answer_values(self, texts: Sequence[str], seconds: Sequence[str] | None = None) -> Iterator[tuple[Any, ...]]:
        for firsts, others in _parts(texts, seconds):
            with self._answering():
                columns = [list(task.answer_values(firsts, others)) for task in self._remembering().values()]
            yield from (tuple(value for values in row for value in values) for row in zip(*columns, strict=True))

    def format_answer(self, values: tuple[Any, ...], texts: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        """The lines of each task, after its name."""
        for name, task in self.tasks.items():
            count = len(task.answer_columns(paired=len(texts) > 1))
            yield from ((name, *line) for line in task.format_answer(values[:count], texts))
            values = values[count:]

    def _remembering(self) -> dict[str, Task]:
        """The tasks on outputs of the joint model that are computed once for equal inputs."""
        outputs, tasks = Remembered(self.model), {}
        for name, task in self.tasks.items():
            tasks[name] = copy.copy(task)
            tasks[name].model = OutputOf(outputs, name, task.output_name)
        return tasks


def check_name(name: str) -> None:
    """Raises FieldError for a name that a task among others cannot have."""
    rule = f"be of small letters, digits and underscores, and none of {', '.join(_TAKEN)}"
    check("ManyTasks", "tasks", bool(_NAME.fullmatch(name)) and name not in _TAKEN, rule, name)


def check_recipe(kinds: Sequence[type[Task]], recipe: RecipeName | None) -> None:
    """Raises FieldError if a recipe cannot hold the head of a task."""
    numbers = sorted({kind.name for kind in kinds if kind.link == "identity"})
    fits = recipe is None or RECIPES[recipe].integers or not numbers
    rule = f"hold integers in a file with a {' and a '.join(numbers)}, whose head stays float32"
    check("export", "recipe", fits, rule, recipe)


def _of(values: Mapping[str, float], names: Mapping[str, Any]) -> dict[str, float]:
    return {name: values[name] for name in names}


def _parts(texts: Sequence[str], pairs: Sequence[str] | None) -> Iterator[tuple[list[str], list[str] | None]]:
    """Texts and second texts, so many at once as outputs fit into memory."""
    firsts, seconds = as_texts("texts", texts), None if pairs is None else as_texts("pairs", pairs)
    if seconds is not None:
        check_same_length("texts", firsts, "pairs", seconds)
    for part in slices(len(firsts), _TEXTS_AT_ONCE):
        yield firsts[part], None if seconds is None else seconds[part]
