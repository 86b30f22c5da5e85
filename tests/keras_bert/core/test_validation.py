import dataclasses
import pickle
from typing import Annotated, Literal, Self

import pydantic
import pytest

from keras_bert.core.checks import FieldError, check
from keras_bert.core.validation import PositiveShare, field_error, read_json, validated_dataclass


@validated_dataclass
class Circle:
    kind: Literal["circle"] = "circle"
    radius: pydantic.PositiveFloat = 1.0
    holes: tuple[pydantic.NonNegativeInt, ...] = ()


@validated_dataclass
class Square:
    kind: Literal["square"] = "square"
    side: PositiveShare = 0.5
    border: float = 0.1

    @pydantic.model_validator(mode="after")
    def _check_border(self) -> Self:
        check("Square", "border", self.border < self.side, f"be below side={self.side}", self.border)
        return self


@validated_dataclass(kw_only=False)
class Named:
    name: str
    shape: Annotated[Circle | Square, pydantic.Field(discriminator="kind")] = Circle()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Circle(radius=0), "Circle.radius must be positive, got 0"),
        (lambda: Circle(radius=float("nan")), "Circle.radius must be a finite number, got nan"),
        (lambda: Circle(radius="1"), "Circle.radius must be a valid number, got '1'"),
        (lambda: Circle(holes=(1, -2)), "Circle.holes.1 must be at least 0, got -2"),
        (lambda: Square(side=1.5), "Square.side must be at most 1, got 1.5"),
        (lambda: Square(border=0.6), "Square.border must be below side=0.5, got 0.6"),
        (lambda: Circle(kind="square"), "Circle.kind must be 'circle', got 'square'"),
        (lambda: Named(3), "Named.name must be a valid string, got 3"),
    ],
)
@pytest.mark.parametrize("attempt", [1, 2])
def test_an_error_names_field_rule_and_value_at_each_use(make, message, attempt):
    with pytest.raises(FieldError) as caught:
        make()
    assert str(caught.value) == message


def test_an_error_is_of_one_line_whoever_builds_the_class():
    @validated_dataclass
    class Ring:
        radius: pydantic.PositiveFloat = 1.0

    @validated_dataclass
    class WideRing(Ring):
        width: pydantic.PositiveFloat = 1.0

    pydantic.TypeAdapter(WideRing).json_schema()
    pydantic.dataclasses.rebuild_dataclass(Ring, force=True)
    with pytest.raises(FieldError, match=r"^WideRing\.width must be positive, got 0$"):
        WideRing(width=0)
    with pytest.raises(FieldError, match=r"^Ring\.radius must be positive, got 0$"):
        Ring(radius=0)


def test_records_are_frozen_dataclasses_with_all_their_fields_and_no_others():
    with pytest.raises(TypeError, match=r"^Named\.name must be set$"):
        Named()
    with pytest.raises(TypeError, match=r"^Circle has no field 'colour'$"):
        Circle(colour="red")
    circle = dataclasses.replace(Circle(), radius=2)
    assert circle == Circle(radius=2.0)
    assert hash(circle) == hash(Circle(radius=2.0))
    assert pickle.loads(pickle.dumps(circle)) == circle
    with pytest.raises(dataclasses.FrozenInstanceError):
        circle.radius = 3.0
    with pytest.raises(FieldError, match=r"^Circle\.radius must be positive, got -1$"):
        dataclasses.replace(circle, radius=-1)


def test_an_error_reaches_another_process_whole():
    error = pickle.loads(pickle.dumps(FieldError("a", "b", "be set", ..., "; hint")))
    assert str(error) == "a.b must be set; hint"
    assert error.describe("table") == "table.b must be set; hint"
    assert error.describe("") == "b must be set; hint"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            {"name": "a", "shape": {"kind": "circle", "holes": [1, -2]}},
            "Named.shape.holes.1 must be at least 0, got -2",
        ),
        (
            {"name": "a", "shape": {"kind": "square", "border": 0.5}},
            "Named.shape.border must be below side=0.5, got 0.5",
        ),
        ({"name": "a", "shape": {"kind": "ring"}}, "Named.shape.kind must be one of 'circle', 'square', got 'ring'"),
        ({"name": "a", "shape": {"radius": 1}}, "Named.shape.kind must be set"),
        ({"name": "a", "shape": 3}, "Named.shape must be a table, got 3"),
    ],
)
def test_plain_values_are_read_as_their_kind(content, message):
    with pytest.raises(FieldError) as caught:
        read_json(Named, content, "Named")
    assert str(caught.value) == message
    read = read_json(Named, {"name": "a", "shape": {"kind": "circle", "holes": [3]}}, "Named")
    assert read == Named("a", Circle(holes=(3,)))


def test_an_error_inside_of_a_larger_model_knows_its_field():
    with pytest.raises(pydantic.ValidationError) as caught:
        pydantic.TypeAdapter(dict[str, Square]).validate_json('{"first": {"border": 0.7}}')
    (problem,) = caught.value.errors()
    error = field_error(problem, ["shapes", "first"])
    assert (error.owner, error.field, error.value) == ("shapes.first", "border", 0.7)
