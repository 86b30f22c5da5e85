"""Batches of several tasks in turn; the seed and the number of a batch decide whose rows it has."""

import functools
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from keras_bert.core.checks import check
from keras_bert.masking.row_random import row_keys
from keras_bert.objectives.base import Batch
from keras_bert.recipes.train import BatchedRows, TrainingBatches
from keras_bert.training.step import BatchSource
from plugins.many_tasks.objective import MARK

# Makes the order of the tasks independent of other draws with the same seed.
_TURNS = 0x7475726E73


class MixedRows:
    """The rows of several tasks as `BatchedRows`.

    An epoch has as many optimizer steps as all tasks together have batches. Task t gets a share of them in proportion
    to n_t^(1/T), with its number n_t of rows and the temperature T (Arivazhagan et al. 2019, "Massively Multilingual
    Neural Machine Translation in the Wild", section 4.2): 1 takes each row once, a larger one repeats small tasks.

    Args:
        rows: the rows of each task.
        temperature: at least 1.
        accumulation: number of micro-batches of a step, which have rows of one task.
    """

    task = "many_tasks"

    def __init__(self, rows: Mapping[str, BatchedRows], temperature: float = 1.0, accumulation: int = 1) -> None:
        check("MixedRows", "temperature", temperature >= 1, "be at least 1", temperature)
        self._rows, self._temperature, self._accumulation = rows, temperature, accumulation
        self.count = sum(part.count for part in rows.values())
        self.max_length = max(part.max_length for part in rows.values())
        self.has_answers = all(part.has_answers for part in rows.values())

    def training_batches(self, size: int, seed: int) -> "MixedBatches":
        """Shuffled batches of the training rows."""
        batches = {name: rows.training_batches(size, seed) for name, rows in self._rows.items()}
        steps = np.array([-(-part.per_epoch // self._accumulation) for part in batches.values()])
        if self._temperature > 1:
            shares = np.array([rows.count for rows in self._rows.values()]) ** (1 / self._temperature)
            steps = np.maximum(1, np.rint(steps.sum() * shares / shares.sum())).astype(int)
        counts = dict(zip(batches, map(int, steps), strict=True))
        return MixedBatches(batches, counts, self._accumulation, seed)

    def validation_batches(self, size: int) -> "MixedBatches | None":
        """All batches of the validation rows, task after task; None if there are none."""
        batches = {name: rows.validation_batches(size) for name, rows in self._rows.items()}
        held_out = {name: part for name, part in batches.items() if part is not None}
        return MixedBatches(held_out, {name: part.per_epoch for name, part in held_out.items()}) if held_out else None


class MixedBatches:
    """Numbered batches of several tasks, each with a mark of its task, see `ManyObjective`.

    Args:
        batches: the batches of each task.
        counts: the number of turns of each task in an epoch.
        accumulation: number of batches in a turn.
        seed: the seed of the order of the turns; None for one task after another.
    """

    def __init__(
        self,
        batches: Mapping[str, BatchSource | TrainingBatches],
        counts: Mapping[str, int],
        accumulation: int = 1,
        seed: int | None = None,
    ) -> None:
        self._batches, self._counts, self._accumulation, self._seed = batches, counts, accumulation, seed
        self.per_epoch = sum(counts.values()) * accumulation
        # One reader may be at the end of an epoch while another one has begun the next epoch.
        self._plan = functools.lru_cache(maxsize=2)(self._order)

    @property
    def element_specs(self) -> list[Any]:
        """The specification of the batches of each task."""
        return [_marked(batches.after(0), name).element_spec for name, batches in self._batches.items()]

    def identity(self) -> dict[str, Any]:
        """The plan of the turns, and those of the tasks."""
        plans = {name: batches.identity() for name, batches in self._batches.items()}
        return {"turns": dict(self._counts), "accumulation": self._accumulation, "seed": self._seed, "tasks": plans}

    def after(self, done: int, *, shares: Sequence[int] = (0,), of: int = 1) -> "_Endless":
        """The batches from number `done` on, without end; several devices are refused, whose batches are one data set.

        Raises:
            ValueError: there are several devices.
        """
        check("MixedBatches", "of", of == 1, "be 1: tasks are trained together on one device", of)
        return _Endless(self, done)

    def epoch(self, number: int = 0, *, shares: Sequence[int] = (0,), of: int = 1) -> Iterator[Batch]:
        """All batches of an epoch."""
        batches = self.after(number * self.per_epoch, shares=shares, of=of)
        return itertools.islice(iter(batches), self.per_epoch)

    def first(self, count: int) -> Iterator[Batch]:
        """The first batches of epoch 0, or all of its batches if there are fewer."""
        return itertools.islice(self.epoch(), count)

    def read(self, done: int) -> Iterator[Batch]:
        """See `after`."""
        readers: dict[str, Iterator[Batch]] = {}
        for number in itertools.count(done):
            name, batch_number = self._find(number)
            if name not in readers:
                readers[name] = iter(_marked(self._batches[name].after(batch_number), name))
            yield next(readers[name])

    def _find(self, number: int) -> tuple[str, int]:
        """The task of a batch, and the batch's number among those of its task."""
        epoch, place = divmod(number, self.per_epoch)
        turn, micro = divmod(place, self._accumulation)
        task, earlier = self._plan(epoch)[turn]
        name = list(self._counts)[task]
        return name, (epoch * self._counts[name] + earlier) * self._accumulation + micro

    def _order(self, epoch: int) -> list[tuple[int, int]]:
        """The task of each turn of an epoch, and its number of earlier turns."""
        counts = np.array(list(self._counts.values()))
        turns = np.repeat(np.arange(len(counts)), counts)
        if self._seed is not None:
            turns = turns[np.argsort(row_keys(self._seed ^ _TURNS, epoch, np.arange(len(turns))), kind="stable")]
        taken = np.zeros(len(counts), int)
        plan = []
        for task in map(int, turns):
            plan.append((task, int(taken[task])))
            taken[task] += 1
        return plan


class _Endless:
    """The batches from a number on, with the specifications that `TrainingStep.trace` reads."""

    def __init__(self, batches: MixedBatches, done: int) -> None:
        self._batches, self._done = batches, done

    @property
    def element_specs(self) -> list[Any]:
        return self._batches.element_specs

    def __iter__(self) -> Iterator[Batch]:
        return self._batches.read(self._done)


def _marked(batches: Any, name: str) -> Any:
    return batches.map(lambda batch: {**batch, f"{MARK}{name}": tf.zeros((), tf.int32)})
