import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.dsl.errors import InputError
from components.files.columns import find_columns

HEADERS = st.lists(st.text(max_size=5), min_size=1, max_size=6, unique=True)


@pytest.mark.parametrize(
    ("fields", "places"),
    [
        (("label", "text"), [2, 0]),
        (("text", "label", "text"), [0, 2, 0]),
        (("größe",), [1]),
        ((), []),
    ],
)
def test_places_come_in_the_order_of_the_fields(fields, places):
    assert find_columns("a.csv", fields, ["text", "größe", "label", ""]) == places


@settings(max_examples=50)
@given(HEADERS.flatmap(lambda header: st.tuples(st.just(header), st.permutations(header))))
def test_every_name_is_found_where_it_stands(case):
    header, fields = case
    places = find_columns("a.csv", tuple(fields), header)
    assert [header[place] for place in places] == fields
    assert sorted(places) == list(range(len(header)))


@pytest.mark.parametrize(
    ("fields", "header", "message"),
    [
        (("text", "labl"), ["text", "label"], "the table a b.csv has no column 'labl'; did you mean 'label'?"),
        # The first that is missing is named, and all columns where none is near.
        (("x", "y"), ["text", "label"], "the table a b.csv has no column 'x'; known: label, text"),
        (("b",), ["a", "b", "b"], "the table a b.csv must have one column 'b', got 2"),
        # Case, blanks and a byte order mark are part of a name.
        (("text",), ["Text"], "the table a b.csv has no column 'text'; did you mean 'Text'?"),
        (("text",), [" text"], "the table a b.csv has no column 'text'; did you mean ' text'?"),
        (("text",), ["\ufefftext"], r"the table a b.csv has no column 'text'; did you mean '\ufefftext'?"),
    ],
)
def test_a_name_that_is_not_there(fields, header, message):
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        find_columns("a b.csv", fields, header)
