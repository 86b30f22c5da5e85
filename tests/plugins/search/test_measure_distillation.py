"""What steady steps take, whatever was compiled between them."""

import pytest

from keras_bert.data.records import read_features
from keras_bert.options.compression import Student
from keras_bert.options.tables import DistillationSettings
from plugins.search import measure_distillation as module
from plugins.search.artifacts import TrainingCost
from plugins.search.measure_distillation import _steady, measure_distillation


def test_a_step_that_compiles_is_not_steady():
    assert _steady([9.0, 1.0, 2.0, 8.0, 3.0, 2.0]) == (pytest.approx(2.0), 6)
    assert _steady([5.0, 1.0]) == (1.0, 2)


def test_steps_are_made_and_nothing_is_kept(line, tmp_path, monkeypatch):
    artifacts, output = line("classification"), TrainingCost(tmp_path / "cost")
    monkeypatch.setattr("plugins.search.measure_distillation._STEPS", 3)
    output.path.mkdir()
    settings = DistillationSettings(batch_size=8, xla="off", precision="float32")
    shape = Student(num_layers=1, intermediate_size=8)
    measure_distillation.run(
        teacher=artifacts.teacher, examples=[artifacts.examples], cost=output, shape=shape, distillation=settings
    )
    times = output.read()
    assert times.steps == 3
    assert times.step > 0
    assert times.rows == read_features(artifacts.examples.path)["counts"]
    assert [file.name for file in output.path.iterdir() if file.name != "manifest.json"] == ["training_cost.json"]


@pytest.mark.parametrize(("temperature", "mean"), [(1.0, 9.1), (2.0, 7.75)])
def test_steps_of_several_tasks_count_in_proportion_to_their_turns(line, tmp_path, monkeypatch, temperature, mean):
    """A temperature above 1 gives small tasks more turns."""
    artifacts, output = line("classification"), TrainingCost(tmp_path / "cost")
    output.path.mkdir()
    times = {"small": (1.0, 3, 100), "large": (10.0, 3, 900)}
    monkeypatch.setattr(module, "_time_task", lambda teacher, name, *_: times[name])
    module.measure_distillation.run(
        teacher=artifacts.teacher,
        examples=[artifacts.examples] * 2,
        cost=output,
        shape=Student(num_layers=1),
        names=("small", "large"),
        temperature=temperature,
    )
    assert output.read().step == pytest.approx(mean)
