"""Makes the reference of tests/plugins/label_errors/test_confident_learning.py with cleanlab.

    python -m tests.golden.label_errors

Made with Python 3.11 and cleanlab 2.9.0: the confident joint, the rows with likely wrong labels in the order of both
scores, of sentences with tags the order by the worst word, and of several labels the rows of each label.

All sorts are made stable: cleanlab takes NumPy's default, which breaks ties as the processor likes. Its rounding of the
joint has ties wherever two counts are equal, so that without this it finds other rows on other machines.
"""

from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from cleanlab.count import compute_confident_joint
from cleanlab.filter import find_label_issues
from cleanlab.multilabel_classification import filter as label_sets
from cleanlab.rank import get_label_quality_scores
from cleanlab.token_classification import filter as tags
from cleanlab.token_classification import rank as sentences

FILE = Path(__file__).parent / "label_errors.npz"
SENTENCE = 4

Array = np.ndarray[Any, Any]


def draw(seed: int, rows: int, classes: int, *, wrong: float = 0.15) -> tuple[Array, Array]:
    """Probabilities (rows, classes), and labels that are mostly the most probable classes."""
    chance = np.random.default_rng(seed)
    probabilities = chance.dirichlet(np.full(classes, 0.4), rows)
    flipped = chance.random(rows) < wrong
    return np.where(flipped, chance.integers(0, classes, rows), probabilities.argmax(axis=1)), probabilities


def cases() -> dict[str, tuple[Array, Array]]:
    """Name -> labels and probabilities."""
    chance = np.random.default_rng(1)
    labels, probabilities = draw(2, 240, 4)
    skewed = np.where(chance.random(240) < 0.7, 0, labels)
    rare_labels, rare = draw(3, 240, 3)
    # A fourth class whose probability is small everywhere, also where it is the label.
    small = chance.uniform(0, 0.1, (240, 1))
    rare = np.concatenate([rare * (1 - small), small], axis=1)
    rare_labels[chance.random(240) < 0.15] = 3
    tied_labels, tied = draw(4, 240, 3)
    tied = (tied * 4).round() + 0.5
    tied /= tied.sum(axis=1, keepdims=True)
    unused_labels, unused = draw(5, 120, 5)
    unused_labels[unused_labels == 4] = 0
    return {
        "balanced": (labels, probabilities),
        "two": draw(6, 200, 2),
        "many": draw(7, 400, 20),
        "skewed": (skewed, probabilities),
        "never confident": (rare_labels, rare),
        "ties": (tied_labels, tied),
        "label without rows": (unused_labels, unused),
        "all right": (probabilities.argmax(axis=1), probabilities),
    }


def main() -> None:
    """Writes the inputs and cleanlab's answers."""
    arrays: dict[str, Array] = {}
    for name, (labels, probabilities) in cases().items():
        arrays |= {f"{name}/labels": labels, f"{name}/probabilities": probabilities}
        arrays[f"{name}/joint"] = compute_confident_joint(labels, probabilities)
        for score in ("self_confidence", "normalized_margin"):
            ranked = find_label_issues(labels, probabilities, return_indices_ranked_by=score, n_jobs=1)
            arrays[f"{name}/{score}"] = get_label_quality_scores(labels, probabilities, method=score)
            arrays[f"{name}/{score} ranks"] = ranked
    labels, probabilities = cases()["balanced"]
    words = labels.reshape(-1, SENTENCE), probabilities.reshape(-1, SENTENCE, probabilities.shape[1])
    arrays["sentences/scores"] = sentences.get_label_quality_scores([*map(list, words[0])], list(words[1]))[0]
    arrays["sentences/words"] = np.array(tags.find_label_issues([*map(list, words[0])], list(words[1]), n_jobs=1))
    shares = np.random.default_rng(8).beta(0.4, 0.6, (200, 3))
    given = (shares > 0.5) ^ (np.random.default_rng(9).random(shares.shape) < 0.1)
    sets = [np.flatnonzero(row).tolist() for row in given]
    arrays |= {"sets/given": given, "sets/shares": shares}
    arrays["sets/wrong"] = label_sets.find_multilabel_issues_per_class(sets, shares, n_jobs=1)
    np.savez_compressed(FILE, **arrays)


if __name__ == "__main__":
    with mock.patch("numpy.argsort", partial(np.argsort, kind="stable")):
        main()
