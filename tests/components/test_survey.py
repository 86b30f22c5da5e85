"""What a survey says of a teacher and of the pieces that its rows need."""

import json
from pathlib import Path

from components.artifacts.model import Model
from components.artifacts.survey import SURVEY_FILE, Survey
from components.artifacts.task_examples import TaskExamples
from components.artifacts.vocabulary import Vocabulary
from components.ingest_examples import ingest_examples
from components.sources.table import TableSource
from components.survey import survey
from keras_bert.config import EncoderConfig


def test_a_shape_and_sizes_with_the_share_of_validation_that_they_keep(checkpoint: Path, tmp_path: Path) -> None:
    # The vocabulary: five special tokens, twelve words, and a question mark, which is a character.
    for split, words in (("train", "cow cow cow hen hen owl fox"), ("dev", "cow cow hen owl elm"), ("test", "oak oak")):
        lines = "".join(f"{word}\tab\n" for word in words.split())
        (tmp_path / f"{split}.tsv").write_text(f"text\tlabel\n{lines}cow\tcd\n")
    examples, output = TaskExamples(tmp_path / "examples"), Survey(tmp_path / "survey")
    source = TableSource(*(str(tmp_path / f"{split}.tsv") for split in ("train", "dev", "test")))
    ingest_examples(vocabulary=Vocabulary(checkpoint / "vocabulary"), examples=examples, source=source, max_length=8)
    survey(teacher=Model(checkpoint / "model"), examples=examples, survey=output)
    found = json.loads(output.file(SURVEY_FILE).read_text())
    config = EncoderConfig.from_dict(found["config"])
    assert (config.num_layers, config.num_heads, config.intermediate_size, config.vocabulary_size) == (1, 2, 32, 18)
    assert found["may_lose_parts"]
    # All pieces; those of training rows: special ones, "?", cow, hen, owl and fox; half of all, without fox. With 5
    # nothing is left to spell with.
    shares = {each["size"]: each["kept_share"] for each in found["pieces"]}
    assert shares == {18: 1.0, 10: 5 / 6, 9: 5 / 6}
