"""The table of a student's distillation before its task, and what it needs of others."""

import pytest

from components.dsl.errors import InputError
from components.sources.text import TextSource
from keras_bert.options.compression import StateImitation
from keras_bert.options.training import Training
from pipeline.job.checks import check_data
from pipeline.settings.schema import select_fields
from tests.pipeline.settings.texts import CHECKPOINT, CORPUS, EXAMPLES, load, refusal, write_data

STUDENT = "[student]\nnum_layers = 1\n"
GENERAL = "[general_distillation]\npath = 'texts'\n"
RELATIONS = GENERAL + "relations = 1.0\n"


def test_a_table_of_texts_imitation_and_training(tmp_path):
    text = CHECKPOINT + EXAMPLES + STUDENT + RELATIONS + "teacher_layer = 2\nsteps = 7\ndocument_end = 'file'\n"
    settings = load(tmp_path, text, "general_distillation.precision=float32").general_distillation
    assert select_fields(settings, TextSource) == TextSource(str(tmp_path / "texts"), document_end="file")
    assert select_fields(settings, StateImitation) == StateImitation(relations=1.0, teacher_layer=2)
    assert select_fields(settings, Training) == Training(epochs=1.0, steps=7, learning_rate=5e-4)


def test_widths_that_relations_cannot_be_cut_into(tmp_path):
    write_data(tmp_path)
    text = CORPUS + EXAMPLES + STUDENT + "hidden_size = 20\n" + RELATIONS
    check_data(load(tmp_path, text))
    rule = "divide the widths of queries, 20 in the student and 32 in the teacher"
    line = refusal(tmp_path, text, "general_distillation.relation_heads=8")
    assert line == f"general_distillation.relation_heads must {rule}, got 8"


def test_texts_that_are_missing(tmp_path):
    write_data(tmp_path)
    (tmp_path / "texts" / "some.txt").unlink()
    with pytest.raises(InputError, match=r"^general_distillation: the corpus must hold \.txt, .*texts$"):
        check_data(load(tmp_path, CHECKPOINT + EXAMPLES + STUDENT + RELATIONS))
