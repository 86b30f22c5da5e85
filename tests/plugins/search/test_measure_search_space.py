"""The search space of a teacher: its shape, and the vocabularies that its rows need."""

from components.artifacts.standard import Model, TaskExamples, Vocabulary
from components.sources.table import TableSource
from plugins.search.artifacts import SearchSpace
from plugins.search.measure_search_space import measure_search_space
from tests.components.labelled_rows import ingest_source


def test_a_shape_and_sizes_with_the_share_of_validation_that_they_keep(checkpoint, tmp_path):
    # The vocabulary: five special tokens, twelve words, and a question mark, which is a character.
    for split, words in (("train", "cow cow cow hen hen owl fox"), ("dev", "cow cow hen owl elm"), ("test", "oak oak")):
        lines = "".join(f"{word}\tab\n" for word in words.split())
        (tmp_path / f"{split}.tsv").write_text(f"text\tlabel\n{lines}cow\tcd\n")
    examples, output = TaskExamples(tmp_path / "examples"), SearchSpace(tmp_path / "search_space")
    source = TableSource(*(str(tmp_path / f"{split}.tsv") for split in ("train", "dev", "test")))
    ingest_source(examples, Vocabulary(checkpoint / "vocabulary"), source, max_length=8)
    measure_search_space.run(teacher=Model(checkpoint / "model"), examples=[examples], search_space=output)
    bounds = output.read()
    config = bounds.config
    assert (config.num_layers, config.num_heads, config.intermediate_size, config.vocabulary_size) == (1, 2, 32, 18)
    assert bounds.has_prunable_blocks
    # All pieces; those of training rows: special ones, "?", cow, hen, owl and fox; half of all, without fox. With 5
    # nothing is left to spell with.
    shares = dict(bounds.vocabularies)
    assert shares == {18: 1.0, 10: 5 / 6, 9: 5 / 6}
