"""Ways to choose the thresholds of labels, on the same probabilities of a model that is trained once for each seed.

    python -m benchmarks.label_thresholds --checkpoint FOLDER [--rows 132] [--seeds 3]

The words of Banking77's intents are the labels: most of the 40 have 1 to 8 of 132 validation rows.
"""

import argparse
import collections
import math
import random
from pathlib import Path

import numpy as np
from sklearn.metrics import f1_score

import keras_bert
from components.sources.table import TableSource
from keras_bert.in_memory.fit import fit
from keras_bert.metrics.label_thresholds import choose_thresholds, find_best_threshold, label_probabilities
from keras_bert.tasks.multi_label import MultiLabelClassification

WORDS = "to my or not in by for a of and on is up do get me it as the from your with via that"
STOP = frozenset(WORDS.split())


def main() -> None:
    """Prints the mean micro and macro F1 of each way, and the worst micro F1, over 20 draws of the validation rows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data/banking77"))
    parser.add_argument("--checkpoint", required=True, help="a folder, such as that of all-MiniLM-L6-v2")
    parser.add_argument("--rows", type=int, default=132, help="of validation")
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    train, test = (read(options.data / f"{name}.csv") for name in ("train", "test"))
    counts = collections.Counter(word for _, words in train for word in words if word not in STOP)
    labels = sorted(word for word, _ in counts.most_common(40))
    random.Random(0).shuffle(train)
    splits = train[:1188], train[1188:4320], test
    texts = [[text for text, _ in rows] for rows in splits]
    truth = [np.array([[label in words for label in labels] for _, words in rows]) for rows in splits]
    sets = [[label for label, flag in zip(labels, flags, strict=True) if flag] for flags in truth[0]]
    for seed in range(options.seeds):
        base = keras_bert.from_hugging_face(options.checkpoint)
        task = MultiLabelClassification.build(base.encoder, base.tokenizer, labels=labels, max_length=32)
        fit(task, texts[0], sets, epochs=6.0, batch_size=32, learning_rate=1e-4, seed=seed, verbose=0)
        held, tested = (label_probabilities(np.stack(list(task.outputs(part)))) for part in texts[1:])
        scores = collections.defaultdict(list)
        for draw in range(20):
            chosen = np.random.default_rng(1000 + draw).choice(len(held), options.rows, replace=False)
            for name, thresholds in choose(held[chosen], truth[1][chosen]).items():
                given = tested >= np.array([math.inf if value is None else value for value in thresholds])
                scores[name].append([f1_score(truth[2], given, average=kind) for kind in ("micro", "macro")])
        for name, values in scores.items():
            (micro, macro), worst = 100 * np.mean(values, axis=0), 100 * np.min(values, axis=0)[0]
            print(f"seed {seed}, {name}: micro F1 {micro:.2f} (worst {worst:.2f}), macro F1 {macro:.2f}")


def read(file: Path) -> list[tuple[str, list[str]]]:
    """Texts with the words of their intents."""
    rows = TableSource("rows", text="text", label="category").read(str(file))
    return [(row.text, sorted(set(row.label.lower().replace("?", "").split("_")))) for row in rows]


def choose(shares: np.ndarray, truth: np.ndarray) -> dict[str, list[float | None]]:
    """Way -> the threshold of each label."""
    common = find_best_threshold(shares.ravel(), truth.ravel())
    best: list[float | None] = [find_best_threshold(*column) for column in zip(shares.T, truth.T, strict=True)]
    count = truth.shape[1]
    ways: dict[str, list[float | None]] = {"0.5 each": [0.5] * count, "best F1 of each label": best}
    return {**ways, "one common": [common] * count, "chosen together": choose_thresholds(shares, truth)}


if __name__ == "__main__":
    main()
