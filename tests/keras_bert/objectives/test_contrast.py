"""The losses equal those of sentence-transformers on the same vectors, see tests/golden/contrast.py."""

from pathlib import Path

import keras
import numpy as np
import pytest
from keras import ops

from keras_bert.objectives.contrast import (
    RankingLoss,
    exclude_answers,
    list_divergence,
    margin_mse_loss,
    multiple_negatives_ranking_loss,
)
from keras_bert.objectives.retrieval import RetrievalObjective, find_false_negatives
from keras_bert.options.training import Contrast

GOLDEN = np.load(Path(__file__).parents[2] / "golden" / "contrast.npz")
SIDES = [GOLDEN[name] for name in ("query", "passage", "negative")]
ROWS = len(SIDES[0])
# Each row is another query with another passage and another negative.
BATCH = {
    "answer_groups": np.arange(ROWS)[:, None],
    "passage_group": np.arange(ROWS),
    "negative_group": np.arange(ROWS, 2 * ROWS),
    "negative_row": np.arange(ROWS),
}
LOSSES = {
    "ranking": multiple_negatives_ranking_loss,
    "symmetric": lambda *sides: multiple_negatives_ranking_loss(*sides, symmetric=True),
}
CONTRASTS = {
    "ranking": Contrast(),
    "symmetric": Contrast(symmetric=True),
    "triplet_cosine": Contrast(loss="triplet"),
    "matryoshka": Contrast(dimensions=(4, 8)),
}


def check_golden(name, loss, *, rtol=1e-7):
    """The mean of a loss and its gradient with respect to the queries."""
    tf = pytest.importorskip("tensorflow")
    queries = tf.constant(SIDES[0])
    with tf.GradientTape() as tape:
        tape.watch(queries)
        value = loss(queries)
    np.testing.assert_allclose(value, GOLDEN[name], atol=1e-5, rtol=rtol)
    np.testing.assert_allclose(tape.gradient(value, queries), GOLDEN[f"{name}_gradient"], atol=1e-5, rtol=rtol)


@pytest.mark.parametrize("name", LOSSES)
def test_losses_equal_sentence_transformers(name):
    check_golden(name, lambda queries: ops.mean(LOSSES[name](queries, *SIDES[1:])))


SCORE_LOSSES = {
    "margin_mse": margin_mse_loss,
    "list_divergence": lambda scores, target, mask=None: list_divergence(scores, target, 2.0, mask),
}


@pytest.mark.parametrize("name", SCORE_LOSSES)
def test_losses_on_a_teachers_scores_equal_sentence_transformers(name):
    loss, target = SCORE_LOSSES[name], GOLDEN["teacher_scores"]

    def score(queries):
        candidates = np.stack([*SIDES[1:], np.roll(SIDES[2], -1, axis=0)], axis=1)
        return ops.sum(queries[:, None] * candidates, axis=-1)

    check_golden(name, lambda queries: ops.mean(loss(score(queries), target)), rtol=1e-6)
    # A padded candidate does not count, whatever its scores.
    scores, mask = np.array(score(SIDES[0])), np.array([[1, 1, 0]] * ROWS)
    np.testing.assert_allclose(
        loss(scores, np.where(mask, target, np.nan), mask), loss(scores[:, :2], target[:, :2]), rtol=1e-5
    )


def test_given_scores_are_compared_with_those_of_a_rows_own_negatives():
    """Row 0 has no negative, row 1 the first and third, of which the latter has no score; the others have one each."""
    rows = np.array([1, 2, 1, 3, 4, 5, 6])
    passages, negatives = GOLDEN["teacher_scores"][:, 0], np.where(np.arange(ROWS) == 2, np.nan, 1.0).astype("float32")
    batch = {**BATCH, "negative_row": rows, "negative_scores": negatives}
    units = [side / np.linalg.norm(side, axis=1, keepdims=True) for side in SIDES]
    cosines, places = (units[0] * units[1]).sum(axis=1), [None, 0, 1, 3, 4, 5, 6]
    lists = [[cosine] + ([] if place is None else [units[0][row] @ units[2][place]]) for row, (cosine, place) in
             enumerate(zip(cosines, places, strict=True))]  # fmt: skip
    for scores, loss in (("margin_mse", margin_mse_loss), ("divergence", lambda *sides: list_divergence(*sides, 2.0))):
        distances = RetrievalObjective(Contrast(scores=scores)).distances(np.concatenate(SIDES), passages, batch, 2.0)
        expected = [
            float(
                loss(np.array([[20 * one for one in part]]), np.array([[passages[row], *[1.0] * (len(part) - 1)]]))[0]
            )
            for row, part in enumerate(lists)
        ]
        np.testing.assert_allclose(distances, expected, rtol=1e-3, atol=1e-4)
    margins = [units[0][row] @ (units[1][row] - units[2][place]) for place, row in enumerate(rows)]
    expected = np.square(margins - (passages[rows] - 1.0)) * (np.arange(ROWS) != 2)
    triplets = RetrievalObjective(Contrast(loss="triplet")).distances(np.concatenate(SIDES), passages, batch, 2.0)
    np.testing.assert_allclose(triplets, expected, rtol=1e-4)


@pytest.mark.parametrize("name", CONTRASTS)
def test_the_objective_equals_sentence_transformers(name):
    def mean(queries):
        total, weight = RetrievalObjective(CONTRASTS[name]).measure(ops.concatenate([queries, *SIDES[1:]]), BATCH)[
            "loss"
        ]
        assert float(weight) == ROWS
        return total / weight

    check_golden(name, mean)


def test_the_keras_loss_is_the_same_function():
    cosines = [side / np.linalg.norm(side, axis=1, keepdims=True) for side in SIDES[:2]]
    for symmetric in (False, True):
        expected = float(np.mean(multiple_negatives_ranking_loss(*SIDES[:2], symmetric=symmetric)))
        loss = RankingLoss(symmetric=symmetric)
        assert float(loss(np.arange(ROWS)[:, None], cosines[0] @ cosines[1].T)) == pytest.approx(expected, abs=1e-5)
        again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(loss))
        assert again.get_config() == loss.get_config()


def test_a_copy_of_its_passage_is_no_negative_of_a_query():
    """Each row stands twice in the batch: each query is compared with the others' passages alone, twice."""
    objective = RetrievalObjective()
    vectors = ops.concatenate([SIDES[0], SIDES[0], SIDES[1], SIDES[1], SIDES[2]])
    doubled = {name: np.concatenate([values, values]) for name, values in BATCH.items() if "negative" not in name}
    doubled |= {"negative_group": BATCH["negative_group"], "negative_row": BATCH["negative_row"]}
    total, weight = objective.measure(vectors, doubled)["loss"]
    units = [side / np.linalg.norm(side, axis=1, keepdims=True) for side in SIDES]
    logits = 20 * np.concatenate([units[0] @ units[1].T, units[0] @ units[2].T], axis=1)
    copies = np.concatenate([2 * np.ones((ROWS, ROWS)) - np.eye(ROWS), np.ones((ROWS, ROWS))], axis=1)
    losses = np.log((copies * np.exp(logits)).sum(axis=1)) - np.diag(logits)
    assert (float(total), float(weight)) == (pytest.approx(2 * losses.sum(), abs=1e-4), 2 * ROWS)
    # The fault that this would be: without groups, each query is pushed away from the copy of its passage.
    blind = {**doubled, "answer_groups": np.arange(2 * ROWS)[:, None], "passage_group": np.arange(2 * ROWS)}
    blind["negative_group"] = BATCH["negative_group"] + ROWS
    assert float(objective.measure(vectors, blind)["loss"][0]) > float(total) + ROWS / 2


def test_passages_of_a_query_are_no_negatives_of_it_wherever_they_stand():
    batch = {
        "answer_groups": np.array([[0], [1], [1]]),
        "passage_group": np.array([0, 1, 1]),
        "negative_group": np.array([1, 5]),
    }
    expected = [[0, 0, 0, 0, 0], [0, 0, 1, 1, 0], [0, 1, 0, 1, 0]]
    np.testing.assert_array_equal(find_false_negatives(batch), np.array(expected, bool))
    # Query 0 has passages 0 and 7: the latter stands in the row of another query, and among negatives.
    batch = {
        "answer_groups": np.array([[0, 7], [7, -1]]),
        "passage_group": np.array([0, 7]),
        "negative_group": np.array([7, 5]),
    }
    np.testing.assert_array_equal(find_false_negatives(batch), np.array([[0, 1, 1, 0], [0, 0, 1, 0]], bool))
    cosines = np.array([[0.5, 0.9], [0.1, 0.8]])
    losses = RankingLoss(scale=1.0, reduction=None)(np.array([[0, 7], [7, -1]]), cosines)
    np.testing.assert_allclose(losses, [0.0, np.log1p(np.exp(0.1 - 0.8))], atol=1e-6)


def test_memory_does_not_grow_with_the_passages_of_a_query():
    """All triples of rows, answers and candidates at once would be 2.5 GB."""
    answers = np.arange(500 * 4000, dtype="int32").reshape(500, 4000)
    answers[1, -1] = 7
    excluded = np.array(exclude_answers(answers[:, -100:], np.full(50_000, 7, "int32")))
    assert excluded.sum(axis=1).tolist() == [0, 49_999] + [0] * 498


def test_one_row_without_negatives_teaches_nothing_and_breaks_nothing():
    empty = np.zeros(0, "int32")
    batch = {"answer_groups": [[0]], "passage_group": [0], "negative_group": empty, "negative_row": empty}
    tf = pytest.importorskip("tensorflow")
    vectors = tf.constant(np.concatenate([SIDES[0][:1], SIDES[1][:1]]))
    for contrast in (Contrast(), Contrast(symmetric=True), Contrast(loss="triplet")):
        with tf.GradientTape() as tape:
            tape.watch(vectors)
            total = RetrievalObjective(contrast).measure(vectors, batch)["loss"][0]
        assert float(total) == 0.0
        np.testing.assert_array_equal(tape.gradient(total, vectors), np.zeros_like(vectors))


@pytest.mark.parametrize("contrast", [Contrast(), Contrast(loss="triplet")])
def test_the_distance_is_0_for_the_teacher_itself_and_follows_its_scores_alone(contrast):
    objective, vectors = RetrievalObjective(contrast), np.concatenate(SIDES)
    assert float(np.sum(objective.distances(vectors, vectors, BATCH, 2.0))) == pytest.approx(0.0, abs=1e-4)
    # Another width and another length of the vectors, with the same cosines.
    wide = 3.0 * np.concatenate([vectors, np.zeros_like(vectors)], axis=1)
    assert float(np.sum(objective.distances(vectors, wide, BATCH, 2.0))) == pytest.approx(0.0, abs=1e-4)
    assert float(np.sum(objective.distances(vectors, vectors[:, ::-1] ** 3, BATCH, 2.0))) > 0.1


def test_settings_that_a_loss_does_not_read_are_refused():
    for settings in ({"loss": "triplet", "scale": 5.0}, {"margin": 0.5}, {"dimensions": (4, 4)}, {"scale": 0.0}):
        with pytest.raises(ValueError, match=r"Contrast\.(scale|margin|dimensions) must "):
            Contrast(**settings)
