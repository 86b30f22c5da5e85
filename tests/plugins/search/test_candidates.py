"""Which students, vocabularies and recipes stand in a grid, what they are called, and which settings they are."""

import dataclasses

import pytest

from keras_bert.options.compression import Student
from pipeline.job.files import make_settings, merge_tables, read_tables
from pipeline.settings.schema import FittedVocabulary
from plugins.search.candidates import Candidate, Grid
from tests.pipeline.settings.texts import CHECKPOINT, EXAMPLES, QUERIES, load
from tests.plugins.search.grids import CONFIG, WHOLE, grid, make_bounds


def test_levels_are_shares_of_the_teachers_from_the_most_down(tmp_path):
    candidates = grid(tmp_path)
    layers, heads, units, ranks, pieces, recipes = candidates.levels
    assert layers == (6, 4, 3, 2, 1)
    assert heads == (12, 6, 3)
    assert units == (1536, 768, 384)
    assert ranks == (384, 128, 64)
    assert pieces == (30000, 8000, 4000), "with fewer, one piece in five of validation rows would be spelt"
    assert recipes == ("mixed_wi8_ai8", "weights_wi4_block32", "weights_wi4")
    assert len(candidates.members) == 5 * 3 * 3 * 3 * 3 * 3
    assert WHOLE in candidates.members


def test_the_jobs_own_student_and_recipe_stand_in_it(tmp_path):
    text = "[student]\nlayers = [0, 2, 3, 4, 5]\nnum_heads = 4\n[quantization]\nrecipe = 'float16'\n"
    candidates = grid(tmp_path, text)
    candidate = WHOLE._replace(layers=5, heads=4, recipe="float16")
    assert candidate in candidates.members
    assert candidates.shape(candidate) == Student(layers=(0, 2, 3, 4, 5), num_heads=4)
    assert candidates.shape(candidate._replace(layers=4)) == Student(num_layers=4, num_heads=4)
    assert candidates.recipes() == ["float16", "weights_wi4_block32", "weights_wi4"]


def test_a_name_tells_what_is_less_than_the_teachers(tmp_path):
    candidates = grid(tmp_path)
    assert candidates.name(WHOLE) == "l6-mi8"
    assert candidates.name(Candidate(4, 6, 768, 128, 4000, "weights_wi4")) == "l4-h6-f768-r128-v4000-wi4"
    names = {candidates.name(candidate) for candidate in candidates.members}
    assert len(names) == len(candidates.members), "steps are named after them"


def test_other_graphs_keep_heads_units_and_tables(tmp_path):
    shared = dataclasses.replace(CONFIG, shared_layers=True, embedding_size=128)
    candidates = grid(tmp_path, config=shared, free=False)
    assert [len(levels) for levels in candidates.levels[:4]] == [5, 1, 1, 3]
    ranked = grid(tmp_path, config=dataclasses.replace(CONFIG, embedding_rank=64))
    assert ranked.levels[3] == (64,), "a product is not made a product again"
    assert ranked.config(WHOLE._replace(rank=64)).embedding_rank == 64


@pytest.mark.parametrize("table", ["[adaptation]\nkind = 'lora'\n", "[student]\nnum_layers = 2\n[teacher_labels]\n"])
def test_the_vocabulary_stays_where_something_hangs_on_it(tmp_path, table):
    assert grid(tmp_path, table).levels[4] == (30000,)


@pytest.mark.parametrize("table", ["[hard_negatives]\n", "negatives = ['n']\n[reranker]\npath = 'folder'\n"])
def test_rows_that_were_mined_or_scored_are_those_of_all_candidates(tmp_path, table):
    assert Grid.of(load(tmp_path, CHECKPOINT + QUERIES + table), make_bounds()).levels[4] == (30000,)
    assert len(Grid.of(load(tmp_path, CHECKPOINT + QUERIES), make_bounds()).levels[4]) == 3


def test_what_a_distillation_cannot_teach_is_left_out(tmp_path):
    text = "[student]\nnum_layers = 2\n[distillation]\nattentions = 1.0\n"
    assert {candidate.heads for candidate in grid(tmp_path, text).members} == {12}
    narrow = grid(tmp_path, config=dataclasses.replace(CONFIG, intermediate_size=80))
    blocks = {candidate.units for candidate in narrow.members if candidate.recipe == "weights_wi4_block32"}
    assert blocks == set(), "80, 40 and 20 inputs cannot be cut into blocks of 32"


@pytest.mark.parametrize("width", [32, 128, 256, 384, 512, 768, 1024])
def test_each_kernel_of_a_recipe_with_blocks_can_be_cut_into_them(tmp_path, width):
    config = dataclasses.replace(CONFIG, hidden_size=width, num_heads=4, intermediate_size=4 * width)
    candidates = grid(tmp_path, config=config)
    shapes = [
        candidates.config(candidate) for candidate in candidates.members if candidate.recipe == "weights_wi4_block32"
    ]
    inputs = {
        size
        for candidate in shapes
        for size in (candidate.hidden_size, candidate.intermediate_size, candidate.embedding_rank)
    }
    assert {size for size in inputs if size is not None and size % 32} == set()
    ranks = {candidate.rank for candidate in candidates.members if candidate.recipe == "weights_wi4"}
    assert ranks == {width, int(width / 3), int(width / 6)}, "one scale a unit takes any number of inputs"


def test_the_ends_of_a_recipe_and_what_is_a_level_larger(tmp_path):
    candidates = grid(tmp_path)
    assert candidates.ends("weights_wi4") == [
        Candidate(1, 3, 384, 64, 30000, "weights_wi4"),
        WHOLE._replace(layers=3, recipe="weights_wi4"),
    ]
    assert list(candidates.larger(WHOLE)) == []
    candidate = WHOLE._replace(layers=3, recipe="weights_wi4")
    assert set(candidates.larger(candidate)) == {
        candidate._replace(layers=4),
        candidate._replace(recipe="weights_wi4_block32"),
    }


def test_a_candidate_as_a_job(tmp_path):
    text = (
        "[student]\nnum_layers = 2\n[distillation]\nsteps = 90\ntemperature = 3.0\n"
        "[quantization]\nsteps = 7\nfloat_layers = ['block_5/attention/key']\n"
    )
    candidates, candidate = grid(tmp_path, text), WHOLE._replace(layers=3, recipe="weights_wi4")
    short = candidates.settings_of(candidate, 1 / 9)
    assert (short.distillation.steps, short.distillation.temperature) == (10, 3.0)
    assert (short.quantization.recipe, short.quantization.post_training) == ("weights_wi4", True)
    assert short.quantization.float_layers == ()
    whole = candidates.settings_of(candidate)
    assert whole.distillation == candidates.settings.distillation
    assert (whole.quantization.steps, whole.quantization.post_training) == (7, False)
    assert candidates.tables(candidate) == {
        "student": {"num_layers": 3},
        "quantization": {"recipe": "weights_wi4", "float_layers": []},
    }
    fewer = grid(tmp_path).tables(candidate._replace(vocabulary_size=4000))
    assert fewer["quantization"] == {"recipe": "weights_wi4"}
    assert fewer["fitted_vocabulary"] == {"size": 4000}
    assert candidates.settings_of(candidate._replace(vocabulary_size=4000)).fitted_vocabulary == FittedVocabulary(
        size=4000
    )
    epochs = grid(tmp_path).settings_of(candidate, 1 / 3).distillation
    assert (epochs.steps, epochs.epochs) == (None, 1.0)


def test_a_job_may_have_each_vocabulary_of_a_search(tmp_path):
    candidates = grid(tmp_path, pieces=[(300, 1.0), (14, 0.99)])
    assert candidates.levels[4] == (300, 14)
    winner = candidates.tables(WHOLE._replace(vocabulary_size=14))
    tables = merge_tables(read_tables(tmp_path / "my.toml"), winner)
    assert make_settings(tables).fitted_vocabulary == FittedVocabulary(size=14)


def test_a_smaller_vocabulary_takes_the_place_of_a_minimum_of_the_job(tmp_path):
    text = CHECKPOINT + EXAMPLES + "[fitted_vocabulary]\nmin_count = 2\n"
    winner = Grid.of(load(tmp_path, text), make_bounds()).tables(WHOLE._replace(vocabulary_size=4000))
    tables = merge_tables(read_tables(tmp_path / "my.toml"), winner)
    assert make_settings(tables).fitted_vocabulary == FittedVocabulary(size=4000)


@pytest.mark.usefixtures("stand_in_accelerators")
def test_no_recipe_is_one_that_a_chip_of_the_job_refuses(tmp_path):
    assert grid(tmp_path, "[export]\naccelerators = ['engine']\n").recipes() == ["mixed_wi8_ai8", "weights_wi4"]
    assert grid(tmp_path).recipes() == ["mixed_wi8_ai8", "weights_wi4_block32", "weights_wi4"]
