"""The score on validation rows, of a model as it is, as it was rounded, and of its file."""

import pytest

from components.dsl.errors import InputError
from components.examples.registry import read_rows
from plugins.search.artifacts import Validation
from plugins.search.validate import validate


def validated(line, folder, **given):
    """What the step writes."""
    output = Validation(folder / "validation")
    output.path.mkdir()
    validate.run(examples=[line.examples], validation=output, **given)
    return output.read()


def test_a_model_is_scored_as_a_user_asks_it(line, tmp_path):
    artifacts = line("classification")
    rows = len(read_rows(artifacts.examples, "validation"))
    scored = validated(artifacts, tmp_path, model=artifacts.teacher)
    assert scored == ("accuracy", artifacts.score("teacher", "validation"), rows)
    (tmp_path / "other").mkdir()
    assert validated(artifacts, tmp_path / "other", model=artifacts.teacher, metrics=("macro_f1",)).metric == "macro_f1"


def test_unknown_metric_is_refused(line, tmp_path):
    with pytest.raises(InputError, match=r"^metric must be one of \['accuracy', .*got 'f2'$"):
        validated(line("classification"), tmp_path, model=line("classification").teacher, metrics=("f2",))


@pytest.mark.long
def test_the_file_of_a_retrieval_is_scored(line, tmp_path):
    artifacts = line("retrieval")
    assert 0 < validated(artifacts, tmp_path, edge=artifacts.edge, metrics=("mrr_at_10",)).score <= 1
