"""Properties of rows: repeated and contradictory rows that were planted, and the lengths of each task's inputs."""

import pytest

from components.examples.registry import TASK_ROWS
from components.examples.row_traits import measure_rows, measure_tokens, percentile, sample_rows
from components.sources.questions import Question
from components.sources.table import TextRow
from components.sources.tagged_words import Sentence
from keras_bert.tokenizers.eager import EagerWordPiece
from keras_bert.tokenizers.wordpiece_vocabulary import SPECIAL_TOKENS

TOKENIZER = EagerWordPiece([*SPECIAL_TOKENS, "cow", "hen", "##s"], lowercase=True)


def test_planted_repeats_and_conflicts():
    rows = [
        TextRow("a cow", "farm"),
        TextRow("A  cow ", "farm"),
        TextRow("a hen", "farm"),
        TextRow("a hen", "sea"),
        TextRow("a ship", "sea"),
    ]
    traits = measure_rows(rows, TASK_ROWS["classification"])
    assert traits.rows == 5
    assert traits.labels == {"farm": 3, "sea": 2}
    assert traits.repeats == 2
    assert traits.conflicts == [("a hen", ["farm", "sea"])]
    assert traits.words == [2, 2, 2, 2, 2]


def test_tags_contradict_and_answers_of_questions_do_not():
    sentences = [Sentence(("a", "cow"), ("O", "O")), Sentence(("a", "cow"), ("O", "B-X"))]
    assert measure_rows(sentences, TASK_ROWS["token_classification"]).conflicts == [("a cow", ["O O", "O B-X"])]
    questions = [Question(id_, "what?", "a cow", (("cow", 2),)) for id_ in "ab"]
    traits = measure_rows(questions, TASK_ROWS["question_answering"])
    assert (traits.repeats, traits.conflicts) == (1, [])


@pytest.mark.parametrize(
    ("task", "row", "length"),
    [
        ("classification", TextRow("cows hen", "x"), 5),
        ("classification", TextRow("cows", "x", "hen"), 6),
        ("embedding", TextRow("cows", "1", "hen"), 4),
        ("token_classification", Sentence(("cows", "hen"), ("O", "O")), 5),
        ("question_answering", Question("1", "cows", "hen hen", ()), 7),
    ],
)
def test_lengths_are_those_of_the_models_input(task, row, length):
    tokens = measure_tokens([row], TASK_ROWS[task], TOKENIZER)
    assert tokens.lengths == [length]
    assert tokens.unknown == 0.0


def test_unknown_tokens():
    rows = [TextRow("cow ship hen oar", "x")]
    assert measure_tokens(rows, TASK_ROWS["classification"], TOKENIZER).unknown == 0.5


def test_percentiles_and_samples():
    assert [percentile(range(1, 101), percent) for percent in (0, 50, 98, 100)] == [1, 50, 98, 100]
    assert percentile([3, 1, 2], 50) == 2
    assert sample_rows([]) == []


def test_a_sample_has_rows_of_every_kind_where_kinds_alternate():
    for kinds in (2, 3, 4):
        sample = sample_rows([row % kinds for row in range(40_000)])
        assert len(sample) == 10_000
        assert min(sample.count(kind) for kind in range(kinds)) > 9_500 / kinds
