"""Drift: how far later rows differ from those that a model learnt from, by the schema of the latter."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from components.examples.registry import TASK_ROWS
from components.examples.row_schema import (
    OTHER,
    RowSchema,
    count_bins,
    count_tokens,
    decode_words,
    hash_row_words,
    median_bin,
    numbers_of,
    share_above,
)
from components.examples.row_traits import measure_rows, measure_tokens

if TYPE_CHECKING:
    from keras_bert.tokenizers.base import BaseTokenizer

# Population stability index: from 0.25 on a population has changed (Siddiqi 2006, Credit Risk Scorecards, section 9).
MOST_PSI = 0.25
# Jensen-Shannon distance of base 2, 0 to 1: the default of Vertex AI's model monitoring for drift of a feature.
MOST_DISTANCE = 0.3
# The probability that the index reports a difference although the rows are like the training rows.
_FALSE_ALARMS = 0.01
# Shares of tokens or rows that may be unknown or cut beside twice the share in training: our choice.
_MORE_UNKNOWN, _MORE_LONG = 0.01, 0.05
# Likewise for words that training did not have. Rows of one source have up to 2.1 times the expected share (SST-2's
# phrases), other English texts of the same vocabulary from 3 times on.
_MORE_NEW = 0.03
# Tokens a word may be so many times those of training, or the reverse. Rows of one source are within 1.1, Spanish texts
# have 1.5 to 1.7 times the tokens of English ones.
_MOST_RATIO = 1.2
# A script that training did not have, from this share of the letters on: our choice.
_NEW_SCRIPT = 0.01
# Added to each count, so that an empty bin has a logarithm (Jeffreys' prior).
_PRIOR = 0.5
_NAMES_SHOWN = 5


class Drift(NamedTuple):
    """One property of rows, in training and now, and whether its measure is beyond the limit."""

    name: str
    expected: str
    got: str
    measure: str
    differs: bool


def compare_rows(
    schema: RowSchema, rows: Sequence[Any], tokenizer: "BaseTokenizer", *, is_labelled: bool
) -> list[Drift]:
    """Holds rows against the schema of those that a model learnt from."""
    task = TASK_ROWS[schema.task]
    traits, tokens = measure_rows(rows, task), measure_tokens(rows, task, tokenizer)
    lengths = count_bins(tokens.lengths, schema.length_edges)
    differences = []
    if is_labelled and schema.labels:
        differences += [_new_labels(schema, traits.labels), _label_shares(schema, traits.labels)]
    numbers = numbers_of(rows, task) if is_labelled else []
    if numbers and schema.numbers:
        bins = count_bins(numbers, schema.number_edges)
        differences.append(compare_bins("numbers", schema.numbers, bins, schema.number_edges))
    longer, hashes = share_above(tokens, schema.max_length), hash_row_words(rows, task)
    is_new = ~np.isin(hashes, decode_words(schema.words))
    ratio = tokens.counts.total() / max(1, len(hashes))
    least, most = schema.tokens_per_word / _MOST_RATIO, schema.tokens_per_word * _MOST_RATIO
    return [
        *differences,
        compare_bins("lengths in tokens", schema.lengths, lengths, schema.length_edges),
        _share(f"rows above {schema.max_length} tokens", schema.longer, longer, _MORE_LONG),
        _scripts(schema.scripts, traits.scripts),
        _share("unknown tokens", schema.unknown, tokens.unknown, _MORE_UNKNOWN),
        _share("words not in training rows", schema.new_words, float(is_new.mean()) if len(hashes) else 0.0, _MORE_NEW),
        _token_shares(schema.tokens, count_tokens(tokens, schema.tokens)),
        Drift(
            "tokens a word",
            f"{schema.tokens_per_word:.2f}",
            f"{ratio:.2f}",
            f"{least:.2f} to {most:.2f}",
            not least <= ratio <= most,
        ),
    ]


def stability_index(expected: Sequence[int], got: Sequence[int]) -> float:
    """The population stability index of counts in the same bins: the sum of (a - e) ln(a / e) of their shares e and a.

    Half a row is added to each bin, see `_PRIOR`.
    """
    shares = [(np.asarray(counts) + _PRIOR) / (sum(counts) + _PRIOR * len(counts)) for counts in (expected, got)]
    return float(((shares[1] - shares[0]) * np.log(shares[1] / shares[0])).sum())


def chance_index(expected: Sequence[int], got: Sequence[int]) -> float:
    """The index that chance exceeds in 1 % of samples as large as these from one population of rows.

    The index is about (1/n + 1/m) times a chi-squared variable with a degree of freedom less than there are bins
    (Yurdakul 2018, Statistical properties of population stability index, section 3).
    """
    from scipy.stats import chi2

    return float((1 / sum(expected) + 1 / sum(got)) * chi2.ppf(1 - _FALSE_ALARMS, max(1, len(expected) - 1)))


def shares_distance(expected: Mapping[str, float], got: Mapping[str, float]) -> float:
    """The Jensen-Shannon distance, 0 to 1, of shares or counts by name (Lin 1991, with logarithms of base 2)."""
    from scipy.spatial.distance import jensenshannon

    names = sorted({*expected, *got})
    return float(jensenshannon(*([shares.get(name, 0.0) for name in names] for shares in (expected, got)), base=2))


def chance_distance(expected: Sequence[int], got: Sequence[int]) -> float:
    """The Jensen-Shannon distance that samples as large as these from one population have on average.

    For small differences the divergence is 1 / (8 ln 2) of chi-squared's (Endres and Schindelin 2003, section III),
    which is (bins - 1) (1/n + 1/m) on average.
    """
    chance = (len(expected) - 1) * (1 / max(1, sum(expected)) + 1 / max(1, sum(got))) / (8 * math.log(2))
    return math.sqrt(chance)


def _token_shares(expected: Mapping[str, int], got: Mapping[str, int]) -> Drift:
    """The distance of counts of tokens. Chance may add twice its average, as the tokens of a row belong together."""
    if not sum(expected.values()) or not sum(got.values()):
        is_other = bool(sum(expected.values())) != bool(sum(got.values()))
        return Drift("token shares", "", "", "rows without tokens", is_other)
    chance = chance_distance(list(expected.values()), list(got.values()))
    distance, limit = shares_distance(expected, got), math.sqrt(MOST_DISTANCE**2 + 2 * chance**2)
    before, now = (f"others {_percent(counts[OTHER] / sum(counts.values()))}" for counts in (expected, got))
    return Drift("token shares", before, now, f"JS distance {distance:.3f} of {limit:.3f}", distance > limit)


def _new_labels(schema: RowSchema, labels: Mapping[str, int]) -> Drift:
    fresh = {label: count for label, count in labels.items() if label not in schema.labels}
    shown = ", ".join(f"{label} ({count})" for label, count in list(fresh.items())[:_NAMES_SHOWN]) or "none"
    more = f" and {len(fresh) - _NAMES_SHOWN} more" if len(fresh) > _NAMES_SHOWN else ""
    return Drift("labels", f"{len(schema.labels)} labels", f"new: {shown}{more}", "none may be new", bool(fresh))


def _label_shares(schema: RowSchema, labels: Mapping[str, int]) -> Drift:
    """Both measures of the shares of labels; those that training did not have are in `_new_labels`."""
    got = {label: labels.get(label, 0) for label in schema.labels}
    if not sum(got.values()):
        return Drift("label shares", _largest(schema.labels), "no label of training", "", differs=True)
    index, limit = _index_and_limit(list(schema.labels.values()), list(got.values()))
    distance = shares_distance(schema.labels, got)
    measure = f"PSI {index:.3f} of {limit:.3f}, JS distance {distance:.3f} of {MOST_DISTANCE}"
    differs = index > limit or distance > MOST_DISTANCE
    return Drift("label shares", _largest(schema.labels), _largest(got), measure, differs)


def compare_bins(name: str, expected: Sequence[int], got: Sequence[int], edges: Sequence[float]) -> Drift:
    """Rows in bins: the median's bin for people, and the index."""
    index, limit = _index_and_limit(expected, got)
    before, now = (f"median {median_bin(counts, edges)}" for counts in (expected, got))
    return Drift(name, before, now, f"PSI {index:.3f} of {limit:.3f}", index > limit)


def _index_and_limit(expected: Sequence[int], got: Sequence[int]) -> tuple[float, float]:
    return stability_index(expected, got), max(MOST_PSI, chance_index(expected, got))


def _share(name: str, expected: float, got: float, more: float) -> Drift:
    # A share that is large already may not double: below 1, so that other rows are told apart.
    limit = min(2 * expected + more, (1 + expected) / 2)
    return Drift(name, _percent(expected), _percent(got), f"at most {_percent(limit)}", got > limit)


def _scripts(expected: Mapping[str, float], got: Mapping[str, float]) -> Drift:
    fresh = [script for script, share in got.items() if share >= _NEW_SCRIPT and script not in expected]
    distance = shares_distance(expected, got) if expected and got else float(bool(expected) != bool(got))
    new = f"; new: {', '.join(fresh[:_NAMES_SHOWN])}" if fresh else ""
    measure = f"JS distance {distance:.3f} of {MOST_DISTANCE}{new}"
    return Drift("scripts", _largest(expected), _largest(got), measure, distance > MOST_DISTANCE or bool(fresh))


def _largest(shares: Mapping[str, float]) -> str:
    whole = sum(shares.values()) or 1
    largest = sorted(shares.items(), key=lambda item: -item[1])[:3]
    return ", ".join(f"{name} {_percent(share / whole)}" for name, share in largest) or "none"


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
