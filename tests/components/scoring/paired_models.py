"""Drawn answers of two models to the same rows."""

import random
from typing import Any, NamedTuple

LABELS = ["no", "yes"]


class PairedModels(NamedTuple):
    """The truth of each row, and the answers of two models."""

    truth: list[Any]
    first: list[Any]
    second: list[Any]


def draw_labels(count: int = 400, *, errors: tuple[float, float] = (0.15, 0.10), seed: int = 0) -> PairedModels:
    """Labels, and answers that are wrong in a share of the rows; half of the errors are those of both models."""
    chance = random.Random(seed)
    truth = [chance.choice(LABELS) for _ in range(count)]
    hard = [chance.random() for _ in range(count)]

    def answer(share: float) -> list[str]:
        wrong = (row < share / 2 or chance.random() < share / 2 for row in hard)
        return [LABELS[label == "no"] if flips else label for label, flips in zip(truth, wrong, strict=True)]

    return PairedModels(truth, *map(answer, errors))


def draw_numbers(count: int = 200, *, noise: tuple[float, float] = (0.6, 0.5), seed: int = 0) -> PairedModels:
    """Numbers, and answers with noise."""
    chance = random.Random(seed)
    truth = [chance.gauss(3.0, 1.0) for _ in range(count)]
    return PairedModels(truth, *([number + chance.gauss(0, size) for number in truth] for size in noise))
