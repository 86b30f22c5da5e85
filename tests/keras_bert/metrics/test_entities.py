import dataclasses
import random
import sys

import pytest

from keras_bert.metrics.entities import Score, Span, entities_of, entity_scores, split_tag

TAGS = {
    "bio": ["O", "O", "B-x", "I-x", "B-y", "I-y", "B-z-w", "I-z-w", "B", "I"],
    "iob1": ["O", "O", "I-x", "I-y", "B-x", "B-y"],
    "iobes": ["O", "O", "B-x", "I-x", "E-x", "S-x", "B-y", "I-y", "E-y", "S-y"],
}


def make_rows(name, seed, count=40, right=0.7):
    """Random tags, malformed ones among them, and a guess at each of them."""
    rng = random.Random(seed)
    true = [rng.choices(TAGS[name], k=rng.randint(0, 14)) for _ in range(count)]
    return true, [[tag if rng.random() < right else rng.choice(TAGS[name]) for tag in row] for row in true]


def seqeval_scores(true, predicted, scheme):
    """Precision, recall, F1 and support as seqeval has them, for all entities, the mean of the types, and each type."""
    from seqeval.metrics import sequence_labeling, v1
    from seqeval.scheme import IOB2

    def scores(average):
        if scheme == "conlleval":
            return sequence_labeling.precision_recall_fscore_support(true, predicted, average=average)
        return v1.precision_recall_fscore_support(true, predicted, average=average, scheme=IOB2)

    rows = [scores("micro"), scores("macro"), *zip(*scores(None), strict=True)]
    return [[*map(float, row[:3]), int(row[3])] for row in rows]


def our_scores(true, predicted, scheme):
    scores = entity_scores(true, predicted, scheme)
    return [list(dataclasses.astuple(row)) for row in (scores.micro, scores.macro, *scores.types.values())]


GOLDEN = {
    ("bio", "conlleval"): [
        [0.6577778, 0.6696833, 0.6636771, 221],
        [0.6611859, 0.6715853, 0.6619722, 221],
        [0.6818182, 0.5357143, 0.6, 56],
        [0.6785714, 0.6551724, 0.6666667, 58],
        [0.6724138, 0.75, 0.7090909, 52],
        [0.6119403, 0.7454545, 0.6721311, 55],
    ],
    ("bio", "iob2"): [
        [0.6666667, 0.7107438, 0.688, 121],
        [0.667999, 0.7074568, 0.6857143, 121],
        [0.6666667, 0.6206897, 0.6428571, 29],
        [0.6666667, 0.6666667, 0.6666667, 27],
        [0.6875, 0.7857143, 0.7333333, 28],
        [0.6511628, 0.7567568, 0.7, 37],
    ],
    ("iob1", "conlleval"): [
        [0.7897727, 0.7315789, 0.7595628, 190],
        [0.7911491, 0.7317154, 0.7596774, 190],
        [0.8214286, 0.71875, 0.7666667, 96],
        [0.7608696, 0.7446809, 0.7526882, 94],
    ],
    ("iobes", "conlleval"): [
        [0.7268722, 0.7173913, 0.7221007, 230],
        [0.7272904, 0.7172302, 0.7220562, 230],
        [0.6956522, 0.7079646, 0.7017544, 113],
        [0.7589286, 0.7264957, 0.7423581, 117],
    ],
}


@pytest.mark.parametrize(("name", "scheme"), GOLDEN)
def test_equals_seqeval(name, scheme):
    """Golden figures of seqeval 1.2.2 (numpy 2.4.6, scikit-learn 1.9.1).

    Made by `python -m tests.keras_bert.metrics.test_entities`, where seqeval is installed.
    """
    scores = our_scores(*make_rows(name, seed=0), scheme)
    assert scores == [pytest.approx(row, abs=1e-6) for row in GOLDEN[name, scheme]]


@pytest.mark.parametrize(("name", "scheme"), GOLDEN)
def test_equals_seqeval_on_random_tags(name, scheme):
    pytest.importorskip("seqeval")
    for seed in range(100):
        rows = make_rows(name, seed, count=1 + seed % 40, right=seed / 100)
        expected = [pytest.approx(row, abs=1e-9) for row in seqeval_scores(*rows, scheme)]
        assert our_scores(*rows, scheme) == expected


@pytest.mark.parametrize(
    ("tags", "conlleval", "iob2"),
    [
        ("B-x I-x O B-y", [("x", 0, 2), ("y", 3, 4)], [("x", 0, 2), ("y", 3, 4)]),
        ("B-x B-x I-x", [("x", 0, 1), ("x", 1, 3)], [("x", 0, 1), ("x", 1, 3)]),
        ("O I-x I-x", [("x", 1, 3)], []),
        ("I-x B-x", [("x", 0, 1), ("x", 1, 2)], [("x", 1, 2)]),
        ("B-x I-y I-y", [("x", 0, 1), ("y", 1, 3)], [("x", 0, 1)]),
        ("B-x I-y I-x", [("x", 0, 1), ("y", 1, 2), ("x", 2, 3)], [("x", 0, 1)]),
        ("B-x-1 I-x-1 I-x-2", [("x-1", 0, 2), ("x-2", 2, 3)], [("x-1", 0, 2)]),
        ("B I O", [("_", 0, 2)], [("_", 0, 2)]),
        ("", [], []),
        ("O O", [], []),
    ],
)
def test_entities_of(tags, conlleval, iob2):
    assert entities_of(tags.split()) == [Span(*span) for span in conlleval]
    assert entities_of(tags.split(), "iob2") == [Span(*span) for span in iob2]


def test_iobes_and_that_type_and_both_ends_must_be_right():
    spans = entities_of("S-x S-x B-x I-x E-x I-x E-y".split())
    assert spans == [("x", 0, 1), ("x", 1, 2), ("x", 2, 5), ("x", 5, 6), ("y", 6, 7)]
    true = ["B-x I-x O B-y B-x".split(), []]
    predicted = ["B-x O O B-x B-x".split(), []]
    scores = entity_scores(true, predicted)
    assert scores.types == {"x": Score(1 / 3, 1 / 2, 2 / 5, 2), "y": Score(0.0, 0.0, 0.0, 1)}
    assert scores.micro == Score(1 / 3, 1 / 3, 1 / 3, 3)
    assert scores.macro == Score(1 / 6, 1 / 4, 1 / 5, 3)


@pytest.mark.parametrize("rows", [[], [[]], [["O"]]])
def test_no_entities_score_zero(rows):
    scores = entity_scores(rows, rows)
    assert scores.micro == scores.macro == Score(0.0, 0.0, 0.0, 0)
    assert scores.types == {}


@pytest.mark.parametrize("tag", ["", "o", "X-x", "B-", "O-x", "b-x", "person", "-x"])
def test_refuses_malformed_tag(tag):
    with pytest.raises(ValueError, match=f"a tag must be O, or one of B, I, E and S .*, got '{tag}'"):
        split_tag(tag)


def test_refuses_unequal_rows_and_unknown_scheme():
    with pytest.raises(ValueError, match=r"predicted must be as many as true \(2\), got 1"):
        entity_scores([["O"], ["O"]], [["O"]])
    with pytest.raises(ValueError, match=r"predicted\[1\] must be as many as true\[1\] \(1\), got 2"):
        entity_scores([["O"], ["O"]], [["O"], ["O", "O"]])
    with pytest.raises(ValueError, match=r"scheme must be one of \('conlleval', 'iob2'\), got 'bio'"):
        entities_of(["O"], "bio")
    with pytest.raises(ValueError, match="a tag of scheme iob2 must be O, B or I, got 'S-x'"):
        entities_of(["S-x"], "iob2")


if __name__ == "__main__":
    for golden in (("bio", "conlleval"), ("bio", "iob2"), ("iob1", "conlleval"), ("iobes", "conlleval")):
        figures = [[round(number, 7) for number in row] for row in seqeval_scores(*make_rows(golden[0], 0), golden[1])]
        sys.stdout.write(f"    {golden}: {figures},\n")
