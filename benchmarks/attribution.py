"""Does attribution find what decides? Deletion curves against random order, and planted words among the first three.

    python -m benchmarks.attribution ROOT/artifacts/ingest_examples/examples-... MODEL [MODEL ...] [--rows 200]

MODEL is the folder of a trained model, or a `.tflite` or `.onnx` file, of a job with labelled single texts. The words
of each test row are replaced by [MASK] one after the other, those with the largest shares first, and the score of the
model's answer falls: the area is the mean fall over all steps. Random order is the mean of five shuffles of each row;
the difference of both is paired by row. Rows of the embedded task `word_order` have known causes, the two swapped
words: the last share is that of the rows found swapped in which both are among the three words with the largest shares.
The completeness gap is a share of the difference between the scores of text and baseline; the absolute gap is a number
of the logit, and small where the share is large because both scores are nearly the same.
"""

import argparse
import time
from pathlib import Path

import numpy as np

import keras_bert
from benchmarks.table import print_table
from components.artifacts.standard import TaskExamples
from components.examples.registry import read_rows
from components.sources.docstring_task import SWAPPED, harvest_sentences, swap_words
from keras_bert.tasks.base import Task
from keras_bert.tasks.checks import is_keras_model
from plugins.explain.attribution import Attribution, Method, attributions
from plugins.explain.occlusion import Baseline, deletion_curve
from plugins.explain.tokens import Tokens

_SHUFFLES = 5
# Of the difference between the scores of text and baseline.
_SMALL_GAP = 0.01
_OCCLUSION: tuple[Method, Baseline] = ("occlusion", "[MASK]")
_METHODS: tuple[tuple[Method, Baseline], ...] = (
    ("integrated_gradients", "[PAD]"),
    ("integrated_gradients", "[MASK]"),
    ("input_x_gradient", "[PAD]"),
    _OCCLUSION,
)


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("examples", type=Path, help="the artifact of ingest_examples")
    parser.add_argument("models", type=Path, nargs="+", metavar="MODEL")
    parser.add_argument("--rows", type=int, default=200, help="test rows")
    parser.add_argument("--steps", type=int, default=64, help="of integrated gradients")
    options = parser.parse_args()
    texts = [row.text for row in read_rows(TaskExamples(str(options.examples)), "test")][: options.rows]
    originals = originals_of(set(texts))
    print(f"{len(texts)} test rows; area: the mean fall of the logit of the answer, mean (sd) over rows\n")
    rows = []
    for model in options.models:
        task = keras_bert.load(model)
        for method in _METHODS if is_keras_model(task.model) else (_OCCLUSION,):
            cells = measure(task, *method, texts, originals, options.steps)
            rows.append({"model": f"{model.parent.name}/{model.name}", **cells})
    print_table(rows)


def measure(
    task: Task, method: Method, baseline: Baseline, texts: list[str], originals: dict[str, str], steps: int
) -> dict[str, str]:
    """The cells of a method."""
    random, start = np.random.default_rng(0), time.perf_counter()
    explained = [attributions(task, text, method=method, baseline=baseline, steps=steps) for text in texts]
    seconds = time.perf_counter() - start
    areas, chance, hits = [], [], []
    for text, attribution in zip(texts, explained, strict=True):
        shares = attribution.by_word()
        order = np.argsort(-shares)
        areas.append(area(task, text, order, attribution.target))
        shuffles = [random.permutation(len(shares)) for _ in range(_SHUFFLES)]
        chance.append(np.mean([area(task, text, shuffle, attribution.target) for shuffle in shuffles]))
        if text in originals and attribution.target == SWAPPED:
            hits.append(swapped_words(task, attribution, originals[text]) <= set(order[:3].tolist()))
    gaps = np.array([(one.gap, one.absolute_gap) for one in explained if one.gap is not None])
    difference = np.subtract(areas, chance)
    gap_text = "{:.3f} ({:.1g}) median, {:.2f} ({:.1g}) largest"
    return {
        "method": method if method == "input_x_gradient" else f"{method}, {baseline}",
        "area": f"{np.mean(areas):.2f} ({np.std(areas):.2f})",
        "random order": f"{np.mean(chance):.2f} ({np.std(chance):.2f})",
        "difference": f"{np.mean(difference):.2f} ± {np.std(difference) / np.sqrt(len(texts)):.2f}",
        "gap, % (absolute)": gap_text.format(*_gap_figures(gaps)) if len(gaps) else "",
        "gap ≤ 1 %": f"{np.mean(gaps[:, 0] <= _SMALL_GAP):.1%} of rows" if len(gaps) else "",
        "both swapped": f"{np.mean(hits):.0%} of {len(hits)}" if hits else "",
        "s": f"{seconds:.0f}",
    }


def _gap_figures(gaps: np.ndarray) -> tuple[float, ...]:
    """The median and the largest of the relative gaps in percent and of the absolute ones, of (rows, 2)."""
    median, largest = np.median(gaps, axis=0), np.max(gaps, axis=0)
    return 100 * median[0], median[1], 100 * largest[0], largest[1]


def area(task: Task, text: str, order: np.ndarray, target: str) -> float:
    """The mean fall of the score over all steps of a deletion curve."""
    curve = deletion_curve(task, text, order.tolist(), target)
    return float(np.mean(curve[0] - curve[1:]))


def originals_of(texts: set[str]) -> dict[str, str]:
    """The sentence before the swap for each text of the embedded task `word_order`; other texts are left out."""
    pairs = ((swap_words(sentence), sentence) for sentence, _ in harvest_sentences(12_000)["test"])
    return {swapped: sentence for swapped, sentence in pairs if swapped in texts}


def swapped_words(task: Task, attribution: Attribution, original: str) -> set[int]:
    """The numbers of the two words that changed places."""
    words = Tokens.of(task.tokenizer, [original], max_length=task.max_length).word_texts
    pairs = enumerate(zip(words, attribution.row.word_texts, strict=True))
    return {number for number, (before, after) in pairs if before != after}


if __name__ == "__main__":
    main()
