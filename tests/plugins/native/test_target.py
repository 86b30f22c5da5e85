"""The export target `native`."""

import pytest

from keras_bert.export.inputs import ComparisonRows, ExportInputs
from keras_bert.export.targets.base import ModelTraits
from keras_bert.options.export import Export
from plugins.native.target import HEADER, SOURCES, Native
from tests.keras_bert.export.word_tasks import make_task


def test_the_sources_stand_beside_the_files_of_a_model(tmp_path):
    source = ExportInputs(make_task("classification"), None, Export(), tmp_path)
    Native().check(source.task)
    Native().write(source)
    written = {path.name: path.read_bytes() for path in (tmp_path / HEADER.name).parent.iterdir()}
    assert written == {path.name: path.read_bytes() for path in SOURCES}
    measured = Native().compare(source, HEADER, ComparisonRows({}, list, 1.0))
    assert measured == {"bytes": sum(map(len, written.values()))}
    assert Native().describe(source, HEADER) == {"lengths": [source.task.max_length]}


@pytest.mark.parametrize(("obstacle", "reason"), [("", None), ("no copy of it", "no copy of it")])
def test_refuses_tokenizers_without_tables_for_apps(obstacle, reason):
    assert Native().find_obstacle(ModelTraits(copy_obstacle=obstacle)) == reason
