"""Statistics of heads against plain loops over the probabilities, for every family and kind of row."""

import dataclasses
import json
import math

import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon

import keras_bert
from plugins.explain.attention import attentions
from plugins.explain.heads import attention_sums, distance_sums, head_kinds, head_statistics, plane_positions
from tests.keras_bert.family_tasks import FAMILIES, family_task
from tests.keras_bert.interop.checkpoints import CONFIG, make_task
from tests.keras_bert.tokenizers.subwords import bpe
from tests.samples import long_but

TEXTS, PAIRS = ["abc d ef", "g"], ["ef ga", "b c d e f"]
SHARES = ("to_first", "to_separators", "to_itself", "to_previous", "to_next")


def plain_statistics(rows):
    """The statistics of [(weights, place of the first token, places of separators)] by loops over single numbers."""
    layers, heads = rows[0][0].shape[:2]
    names = ("entropy", "first_entropy", *SHARES)
    totals = {name: np.zeros((layers, heads)) for name in names}
    queries = sum(weights.shape[-1] for weights, _, _ in rows)
    for weights, first, separators in rows:
        for layer in range(layers):
            for head in range(heads):
                for query, shares in enumerate(weights[layer, head].tolist()):
                    entropy = -sum(share * math.log(share) for share in shares if share > 0)
                    looks = {
                        "entropy": entropy,
                        "first_entropy": entropy if query == first else 0.0,
                        "to_first": shares[first],
                        "to_separators": sum(shares[place] for place in separators),
                        "to_itself": shares[query],
                        "to_previous": shares[query - 1] if query else 0.0,
                        "to_next": shares[query + 1] if query + 1 < len(shares) else 0.0,
                    }
                    for name, number in looks.items():
                        totals[name][layer, head] += number
    return {name: total / (len(rows) if name == "first_entropy" else queries) for name, total in totals.items()}


def plain_distances(rows):
    flat = [weights.reshape(-1, *weights.shape[2:]).astype("float64") for weights, _, _ in rows]
    heads, queries = len(flat[0]), sum(weights.shape[1] for weights in flat)
    distances = np.zeros((heads, heads))
    for weights in flat:
        for one in range(heads):
            for other in range(heads):
                for query in range(weights.shape[1]):
                    shares = weights[one, query], weights[other, query]
                    distances[one, other] += np.nan_to_num(jensenshannon(*shares, base=2))
    return distances / queries


def check_statistics(task, texts, pairs):
    rows = []
    for attention in attentions(task, texts, pairs):
        learned = attention.tokens.count("[PROMPT]")
        separators = [place for place, token in enumerate(attention.tokens) if token in ("[SEP]", "</s>")]
        rows.append((attention.weights, learned, separators))
    statistics = head_statistics(task, texts, pairs)
    for name, expected in plain_statistics(rows).items():
        np.testing.assert_allclose(getattr(statistics, name), expected, rtol=1e-9, atol=1e-12, err_msg=name)
    np.testing.assert_allclose(statistics.distances, plain_distances(rows), atol=1e-7)
    lengths = [weights.shape[-1] for weights, _, _ in rows]
    uniform = sum(length * math.log(length) for length in lengths) / sum(lengths)
    assert statistics.uniform_entropy == pytest.approx(uniform)
    assert np.all(statistics.entropy <= uniform + 1e-9)
    assert statistics.kind.shape == statistics.entropy.shape
    assert statistics.positions.shape == (statistics.entropy.size, 2)
    return rows


# Of attentions, which `test_attention.py` looks at.
@pytest.mark.parametrize("family", long_but(("bert", "longformer"), FAMILIES))
def test_statistics_are_those_of_plain_loops(family, tokenizer):
    rows = check_statistics(family_task(family, tokenizer), TEXTS, PAIRS)
    assert all(len(separators) == 2 for _, _, separators in rows)


def test_learned_vectors_stand_in_front_of_the_first_token(roomy_task):
    roomy_task.adapt(keras_bert.Prompt(tokens=3))
    rows = check_statistics(roomy_task, TEXTS, None)
    assert [first for _, first, _ in rows] == [3, 3]


def test_both_separators_of_a_pair_count_and_one_in_a_text_is_text(classifier):
    from keras_bert.tokenizers.subwords import SubwordTokenizer

    tokenizer = SubwordTokenizer(json.loads(bpe()))
    assert tokenizer.between == 2
    config = dataclasses.replace(CONFIG, vocabulary_size=tokenizer.vocabulary_size)
    rows = check_statistics(make_task("classification", config, tokenizer), ["a b"], ["c </s>"])
    assert len(rows[0][2]) == 3
    statistics = head_statistics(classifier, ["[SEP] [CLS]"])
    (attention,) = attentions(classifier, ["[SEP] [CLS]"])
    np.testing.assert_allclose(statistics.to_separators, attention.weights[..., -1].mean(axis=-1), rtol=1e-6)


def test_heads_are_called_by_what_they_look_at():
    count = 8
    heads = {
        "previous token": np.eye(count, k=-1) + np.eye(count)[:1] * (np.arange(count) == 0)[:, None],
        "next token": np.eye(count, k=1) + np.eye(count)[-1:] * (np.arange(count) == count - 1)[:, None],
        "itself": np.eye(count),
        "separator": np.tile(np.eye(count)[-1], (count, 1)),
        "first token": np.tile(np.eye(count)[0], (count, 1)),
        "broad": np.full((count, count), 1 / count),
        "narrow": (np.roll(np.eye(count), 3, axis=1) + np.roll(np.eye(count), 4, axis=1)) / 2,
        "mixed": sum(np.roll(np.eye(count), shift, axis=1) for shift in (2, 3, 4, 5)) / 4,
    }
    weights = np.stack(list(heads.values()))[None]
    sums = attention_sums(weights, 0, np.arange(count) == count - 1)
    means = {name: array / count for name, array in sums.items()}
    assert head_kinds(means, math.log(count)).tolist() == [list(heads)]


def test_distances_of_long_rows_and_points_in_the_plane(monkeypatch):
    weights = np.random.default_rng(0).dirichlet(np.ones(7), (5, 7))
    whole = distance_sums(weights)
    monkeypatch.setattr("plugins.explain.heads._MOST_ENTRIES", 5 * 7 * 2)
    np.testing.assert_allclose(distance_sums(weights), whole, rtol=1e-12)
    np.testing.assert_allclose(whole / 7, plain_distances([(weights[None], 0, [])]), atol=1e-9)
    points = np.random.default_rng(0).normal(size=(9, 2))
    distances = np.linalg.norm(points[:, None] - points, axis=-1)
    positions = plane_positions(distances)
    np.testing.assert_allclose(np.linalg.norm(positions[:, None] - positions, axis=-1), distances, atol=1e-9)
    mirrored = points * [-1, 1]
    np.testing.assert_array_equal(positions, plane_positions(distances))
    again = plane_positions(np.linalg.norm(mirrored[:, None] - mirrored, axis=-1))
    np.testing.assert_allclose(again, positions, atol=1e-9)


@pytest.mark.parametrize("count", [1, 2])
def test_few_heads_have_positions(count):
    positions = plane_positions(1.0 - np.eye(count))
    np.testing.assert_allclose(positions, [[0.5, 0], [-0.5, 0]] if count == 2 else [[0, 0]], atol=1e-12)


def test_distances_may_be_left_out_and_texts_may_not(classifier):
    statistics = head_statistics(classifier, TEXTS, distances=False)
    assert statistics.distances is statistics.positions is None
    with pytest.raises(ValueError, match=r"^texts must hold at least one text, got none$"):
        head_statistics(classifier, [])
