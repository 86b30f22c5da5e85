"""Files of open labels in the compilers and engines of accelerators, before and after labels are added."""

import numpy as np
import pytest

import keras_bert
from keras_bert.accelerators.base import AcceleratorError
from keras_bert.accelerators.recorded import RecordedModel
from keras_bert.accelerators.registry import answer_rows, compile_file, find_accelerator
from plugins.open_labels.task import open_labels
from tests.keras_bert.recipes.test_texts import TEXTS, TOKENIZER, embedding
from tests.plugins.open_labels.test_task import LABELS, NEW

pytestmark = [pytest.mark.accelerators, pytest.mark.usefixtures("eager")]

LARGEST_ID = TOKENIZER.vocabulary_size - 1


def export_both(recipe, folder):
    """The files of one model with the labels of its rows, and with another one."""
    task = open_labels(embedding(), TEXTS, LABELS)
    keras_bert.quantize(task, TEXTS, recipe=recipe, post_training=True)
    task.export(folder / "before.tflite", texts=TEXTS)
    task.add_label("films", NEW)
    task.export(folder / "after.tflite", texts=TEXTS)
    return folder / "before.tflite", folder / "after.tflite"


@pytest.mark.parametrize("recipe", ["mixed_wi8_ai8", "static_wi8_ai8"])
def test_npus_take_the_file_in_one_part(recipe, tmp_path):
    for file in export_both(recipe, tmp_path):
        (tmp_path / file.stem).mkdir()
        for name in ("qualcomm/SM8650", "intel/LNL"):
            coverage = find_accelerator(name).cover(file, tmp_path / file.stem, LARGEST_ID)
            assert (coverage.taken, coverage.parts) == (coverage.operations, 1), (name, coverage.left)


@pytest.mark.parametrize("name", ["ethos-u85-256", "tflite-micro"])
def test_microcontrollers_run_all_but_the_length_of_vectors_and_additions_change_nothing(name, tmp_path):
    coverages = [
        compile_file(name, file, tmp_path / file.stem, LARGEST_ID) for file in export_both("static_wi8_ai8", tmp_path)
    ]
    # Vectors get length 1 in float32 at the end, which an Ethos-U leaves to the processor.
    left = [reason for reason in coverages[0].left if "DataType Float32" not in reason]
    assert left in ([], ["DEQUANTIZE: Unsupported opType"])
    assert coverages[0] == coverages[1]


def test_the_gpu_answers_labels_that_were_added(tmp_path):
    for file in export_both("mixed_wi8_ai8", tmp_path):
        task, recorded = keras_bert.load(file), RecordedModel(file)
        task.model = recorded
        expected = task.predict([*TEXTS, *NEW])
        try:
            answered = answer_rows("gpu", file, recorded.rows())
        except AcceleratorError as error:
            if "needs a driver of Vulkan" in str(error):
                pytest.skip(str(error))
            raise
        recorded.replay(answered.answers)
        np.testing.assert_allclose(task.predict([*TEXTS, *NEW]), expected, atol=0.02)
        labels = [answer.label for answer in task.classify(NEW)]
        assert ("films" in task.labels) == (labels == ["films"] * 3), labels
