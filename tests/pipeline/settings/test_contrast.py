"""What retrieval needs of a job: said in one line before anything trains."""

import json

import pytest

from components.dsl.errors import InputError
from keras_bert.options.data import Prompts
from pipeline.job.checks import check_data
from tests.pipeline.settings.texts import CHECKPOINT, QUERIES, load, refusal, write_checkpoint, write_queries

NEGATIVES = QUERIES + "negatives = ['negative']\n"


@pytest.fixture
def folder(tmp_path):
    write_checkpoint(tmp_path)
    write_queries(tmp_path, [("a", "A", "X"), ("b", "B", "Y")])
    return tmp_path


def test_a_job_of_pairs_and_one_of_triplets_pass(folder):
    check_data(load(folder, CHECKPOINT + QUERIES, "contrast.symmetric=true", "contrast.dimensions=[8, 16]"))
    check_data(load(folder, CHECKPOINT + NEGATIVES, 'contrast.loss="triplet"', "fine_tuning.batch_size=1"))
    assert load(folder, CHECKPOINT + QUERIES).contrast is None


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("contrast.dimensions=[16, 32]", "contrast.dimensions must be below 32, the width of a vector, got [16, 32]"),
        ("export.dimension=33", "export.dimension must be at most 32, the width of a vector, got 33"),
    ],
)
def test_a_truncated_vector_is_not_longer(folder, override, message):
    assert refusal(folder, CHECKPOINT + QUERIES, override) == message
    narrow = override.replace("32", "24").replace("33", "24")
    check_data(load(folder, CHECKPOINT + QUERIES, narrow))
    with pytest.raises(InputError, match=r"must be (below|at most) 16, the width of a vector"):
        check_data(load(folder, CHECKPOINT + QUERIES, narrow, "student.num_layers=1", "student.hidden_size=16"))


def test_passages_that_are_all_one_are_refused_before_training(folder):
    write_queries(folder, [("a", "Same", "X"), ("b", "same ", "Y")])
    assert refusal(folder, CHECKPOINT + QUERIES) == "train must hold at least 2 different passages, got only 'Same'"


def test_prompts_are_those_of_the_checkpoint_unless_the_job_has_its_own(folder):
    assert load(folder, CHECKPOINT + QUERIES).prompts() == Prompts()
    prompts = {"prompts": {"query": "q: ", "document": "d: "}}
    (folder / "bert" / "config_sentence_transformers.json").write_text(json.dumps(prompts))
    assert load(folder, CHECKPOINT + QUERIES).prompts() == Prompts(query="q: ", passage="d: ")
    other = load(folder, CHECKPOINT + QUERIES, 'examples.prompts.query="ask: "')
    assert other.prompts() == Prompts(query="ask: ")
    assert load(folder, CHECKPOINT + QUERIES + "[examples.prompts]\n").prompts() == Prompts()
    assert load(folder, CHECKPOINT + "[examples]\ntrain = 'rows.tsv'\n").prompts() == Prompts()
