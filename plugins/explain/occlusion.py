"""Scores of a text without some of its words; no gradients, so exported files have them, too."""

from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np

from keras_bert.core.checks import check
from keras_bert.tasks.base import Task
from keras_bert.tokenizers.base import BaseTokenizer
from plugins.explain.explained import ExplainedRow
from plugins.explain.tokens import Array

Baseline = Literal["[PAD]", "[MASK]"]


def baseline_id(tokenizer: BaseTokenizer, baseline: Baseline) -> int:
    """The id of the token that stands for no information."""
    return tokenizer.pad_id if baseline == "[PAD]" else tokenizer.mask_id


def scores_without(task: Task, row: ExplainedRow, empty: int, hidden: Array) -> Array:
    """The scores, float64 (rows,), of a row with words replaced: `hidden`, bool (rows, words), by the id `empty`."""
    rows = {name: np.repeat(array, len(hidden), axis=0) for name, array in row.features.items()}
    # Special tokens are word -1: the last column, which is never hidden.
    rows["token_ids"][np.pad(hidden, ((0, 0), (0, 1)))[:, row.tokens.words]] = empty
    batches = (
        {name: array[None] for name, array in outputs.items()} if isinstance(outputs, dict) else outputs[None]
        for outputs in task.forward(rows)
    )
    return np.array([float(np.asarray(row.target.score(batch))[0]) for batch in batches])


def deletion_curve(
    task: Task,
    text: str,
    order: Sequence[int],
    target: Any = None,
    *,
    pair: str | None = None,
    baseline: Baseline = "[MASK]",
) -> Array:
    """The score of a text as its words are replaced one after the other.

    If the order is that of an attribution, the most important first, the score falls faster than in random order
    (Samek et al. 2017, section 3.1, there for regions of pictures).

    Args:
        task: a fine-tuned task with any model that takes tokens.
        text: the text, or the first of a pair.
        order: the numbers of words in the order in which they are replaced.
        target: see `attributions`.
        pair: the second text of a pair.
        baseline: the token that replaces the tokens of a word.

    Returns:
        float64 (words of the order + 1,): the score of the whole text first.

    Raises:
        ValueError: there is no such target or baseline, the order holds another number or one twice, or the model is
            a file that takes text.

    Examples:
        >>> from plugins.explain import attributions
        >>> shares = attributions(task, "film film", "yes").by_word()
        >>> deletion_curve(task, "film film", np.argsort(-shares), "yes").shape
        (3,)
    """
    check("deletion_curve", "baseline", baseline in get_args(Baseline), f"be one of {get_args(Baseline)}", baseline)
    row = ExplainedRow.of(task, text, target, pair)
    count = len(row.tokens.word_texts)
    numbers = [int(number) for number in order]
    rule = f"hold numbers of the {count} words, each once"
    exists = set(numbers) <= set(range(count)) and len(set(numbers)) == len(numbers)
    check("deletion_curve", "order", exists, rule, numbers)
    hidden = np.zeros((len(numbers) + 1, count), bool)
    for place, word in enumerate(numbers):
        hidden[place + 1 :, word] = True
    return scores_without(task, row, baseline_id(task.tokenizer, baseline), hidden)
