"""Types and names of the columns of answers, and the types of the fields of JSON lines."""

import json

import pyarrow as pa
import pytest

from components.answers.columns import JsonTypes, arrow_type, name_answers
from components.dsl.errors import InputError
from keras_bert.tasks.answer_columns import Vector
from keras_bert.tasks.entities import Entity


def test_types_of_answers_are_types_of_arrow():
    assert [arrow_type(kind) for kind in (str, bool, int, float)] == [pa.string(), pa.bool_(), pa.int64(), pa.float64()]
    assert arrow_type(Vector(3)) == pa.list_(pa.float32(), 3)
    assert arrow_type(Vector(3, "int8")) == pa.list_(pa.int8(), 3)
    assert arrow_type(list[str]) == pa.list_(pa.string())
    fields = {"label": pa.string(), "text": pa.string(), "start": pa.int64(), "end": pa.int64()}
    assert arrow_type(list[Entity]) == pa.list_(pa.struct({**fields, "probability": pa.float64()}))
    with pytest.raises(TypeError, match=r"^a column of answers must be str, .*, got <class 'complex'>$"):
        arrow_type(complex)


def test_a_column_of_the_input_is_not_replaced():
    assert name_answers(["text"], ["label", "probability"], "") == ["label", "probability"]
    assert name_answers(["text", "label"], ["label", "probability"], "") == ["predicted_label", "predicted_probability"]
    with pytest.raises(InputError) as error:
        name_answers(["text", "label", "predicted_label"], ["label", "probability"], "")
    assert str(error.value) == (
        "the table must have no column 'predicted_label', as the answers have one; --prefix model_ would write "
        "'model_predicted_label' beside it"
    )
    assert name_answers(["text", "label"], ["label"], "model_") == ["model_label"]
    with pytest.raises(InputError, match="'a_label'"):
        name_answers(["a_label"], ["label"], "a_")


@pytest.mark.parametrize(
    ("values", "name"),
    [
        (["a", None], "string"),
        ([None], "string"),
        ([True, False], "bool"),
        ([True, 1], "json"),
        ([1, 2**63 - 1], "int64"),
        ([1, 2**63], "json"),
        ([1, 0.5], "double"),
        # 2^53 + 1 is not float64.
        ([2**53, 0.5], "double"),
        ([2**53 + 1, 0.5], "json"),
        (["a", 1], "json"),
        ([[1], [2]], "json"),
        ([{"a": 1}], "json"),
        (["\ud83d"], "json"),
    ],
)
def test_fields_of_json_lines_have_the_type_that_holds_all_their_values(values, name):
    types = JsonTypes()
    for value in values:
        types.add({"field": value, "other": 0})
    assert types.names() == {"field": name, "other": "int64"}
    if name not in ("json", "string"):
        assert pa.array(values, pa.type_for_alias(name)).to_pylist() == values, json.dumps(values)
