"""Queries and passages, by the ranks of the passages."""

import numpy as np
import pytest

from components.examples.retrieval import SplitCorpus
from components.scoring.retrieval import BM25, Ranking, RetrievalScoring, rank_rows, search_words
from components.sources.retrieval import QueryRow
from keras_bert.tasks.retrieval import Retrieval
from tests.pipeline.table_tasks import make_task

SCORING = RetrievalScoring()
ROWS = [QueryRow("cow ?", ("cow", "hen"), ("oak",)), QueryRow("oak ?", ("oak",)), QueryRow("hen ?", ("the",), ("hen",))]
NUMBERS = {"cow": [1.0, 0.2], "hen": [0.9, 0.5], "oak": [0.0, 1.0], "the": [-1.0, 0.0]}


def exact(*ranks):
    """The ranks of passages without equals."""
    return tuple((rank, rank) for rank in ranks)


def test_the_corpus_of_a_split_holds_passages_and_negatives_once():
    assert SplitCorpus.of(ROWS) == SplitCorpus(
        ["cow", "hen", "oak", "the"], [[0, 1], [2], [3]], [[0, 1], [2], [3]], [[2], [], [1]]
    )


def test_copies_of_passages_and_queries_are_one_in_any_case_and_spacing():
    """Of a model that lowercases, the copy has an equal vector: it had rank 2."""
    rows = [QueryRow("cow ?", ("Cow",), ("hen", "HEN")), QueryRow("COW  ?", ("cow ", "oak"), ()), ROWS[2]]
    corpus = SplitCorpus.of(rows)
    assert corpus == SplitCorpus(
        ["Cow", "hen", "oak", "the"], [[0], [0, 2], [3]], [[0, 2], [0, 2], [3]], [[1], [], [1]]
    )
    numbers = {**NUMBERS, "oak": [1.0, 0.3]}
    answers = SCORING.answer(make_task(Retrieval, numbers), rows)
    assert [answer.ranks for answer in answers] == [exact(1, 2), exact(1, 2), exact(4)]
    copies = [QueryRow("red sea", ("the sea", "a red sea")), QueryRow("sea", ("A RED sea",))]
    assert [answer.ranks for answer in search_words(copies)] == [exact(1, 2), ((1, 2),)]


def test_a_model_ranks_by_cosine_among_all_passages_of_the_split():
    answers = SCORING.answer(make_task(Retrieval, NUMBERS), ROWS)
    assert answers == [Ranking(exact(1, 2), "cow"), Ranking(exact(1), "oak"), Ranking(exact(4), "hen")]
    scores = SCORING.score(ROWS, answers, []).metrics
    assert list(scores) == list(SCORING.metrics([]))
    assert scores["mrr_at_10"] == pytest.approx((1 + 1 + 1 / 4) / 3)


def test_vectors_in_fewer_bytes_are_other_uses_of_the_same_outputs():
    task = make_task(Retrieval, NUMBERS)
    variants = SCORING.variants(task, ROWS, [])
    assert list(variants) == ["int8 vectors", "binary vectors", "binary vectors, rescored"]
    assert variants["int8 vectors"] == SCORING.answer(task, ROWS)
    # By their signs cow and hen are one, and oak, which is not above 0 twice, is farther from them.
    assert [answer.ranks for answer in variants["binary vectors"]] == [((1, 2), (1, 2)), exact(1), exact(4)]


def test_equal_scores_favour_no_passage():
    """Ranked by index, a query's own passage came before its negatives."""
    rows = [QueryRow("cow ?", ("cow",), ("hen", "oak", "the"))]
    (answer,) = rank_rows(SplitCorpus.of(rows), lambda part: np.zeros((1, 4)))
    assert answer == Ranking(((1, 4),), "hen")
    assert SCORING.mistakes(rows, [answer], None).rows[0].value == 2.5


def test_a_random_order_is_trivial_and_the_same_each_time():
    rows = [QueryRow(f"{number} ?", (str(number),)) for number in range(400)]
    name, answers = SCORING.trivial(rows, rows)
    assert name == "random order"
    assert answers == SCORING.trivial(rows, rows)[1]
    # One of 400 is first by chance: 10 of 400 are among the first ten, and the mean rank is 200.5.
    assert SCORING.score(rows, answers, []).metrics["recall_at_10"] == pytest.approx(10 / 400, abs=0.02)
    assert np.mean([answer.ranks[0] for answer in answers], axis=0)[0] == pytest.approx(200.5, abs=20)


def test_prompts_stand_in_front_of_queries_and_passages():
    """The prompt of a passage is a word that turns its vector around: each query finds what is least like it."""
    numbers = {**NUMBERS, "the": [-9.0, 0.0]}
    task = make_task(Retrieval, numbers, prompts={"passage": "the "})
    assert SCORING.answer(task, ROWS[:1])[0].ranks != SCORING.answer(make_task(Retrieval, numbers), ROWS[:1])[0].ranks


def test_the_worst_queries_are_those_whose_passage_comes_last():
    answers = [Ranking(exact(1, 2), "cow"), Ranking(exact(3), "hen"), Ranking(exact(4), "hen")]
    mistakes = SCORING.mistakes(ROWS, answers, None)
    assert (mistakes.wrong, mistakes.total, mistakes.measure) == (2, 3, "rank")
    assert [(row.texts, row.answer, row.value) for row in mistakes.rows] == [
        (("hen ?", "the"), "hen", 4.0),
        (("oak ?", "oak"), "hen", 3.0),
    ]


def test_bm25_equals_its_formula():
    rows = [
        QueryRow("red ship", ("the red ship sails the sea", "the sea")),
        QueryRow("sea", ("a red cow stands on red ground", "sea sea")),
    ]
    passages = [text.split() for text in SplitCorpus.of(rows).passages]
    kept = [[word for word in words if len(word) > 1] for words in passages]
    mean = np.mean([len(words) for words in kept])

    def score(query, words):
        total = 0.0
        for term in query.split():
            holders, count = sum(term in other for other in kept), words.count(term)
            rarity = np.log(1 + (len(kept) - holders + 0.5) / (holders + 0.5))
            total += rarity * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * len(words) / mean))
        return total

    rankings = search_words(rows)
    for row, ranking, relevant in zip(rows, rankings, SplitCorpus.of(rows).relevant, strict=True):
        scores = [score(row.query, words) for words in kept]
        order = sorted(range(len(kept)), key=lambda place: -scores[place])
        held = [scores[place] for place in relevant]
        ranks = (
            (1 + sum(other > score for other in scores), sum(other >= score for other in scores)) for score in held
        )
        assert ranking.ranks == tuple(sorted(ranks))
        assert ranking.first == " ".join(passages[order[0]])
    assert list(SCORING.baselines(rows, rows, rows)) == [BM25]
