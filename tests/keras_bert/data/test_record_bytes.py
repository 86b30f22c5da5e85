import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_bert.data.record_bytes import Column, serialize_rows
from keras_bert.data.records import serialize


def naive(columns, row):
    return serialize({name: column.values[row, : column.counts[row]].tolist() for name, column in columns.items()})


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 5),
    st.dictionaries(
        st.sampled_from(["a", "b_ids", "token_ids", "segment_ids", "x" * 127]),
        st.tuples(st.integers(0, 300), st.sampled_from([2, 128, 129, 16384, 16385, 2**21, 2**28])),
        min_size=1,
        max_size=4,
    ),
    st.integers(0, 2**31),
)
def test_the_bytes_are_those_of_protobuf(rows, features, seed):
    rng = np.random.default_rng(seed)
    columns = {
        name: Column(rng.integers(0, below, (rows, width)).astype(np.int32), rng.integers(0, width + 1, rows))
        for name, (width, below) in features.items()
    }
    made = serialize_rows(columns)
    assert made == [naive(columns, row) for row in range(rows)]


def test_the_largest_numbers_of_each_size():
    edges = [0, 1, 127, 128, 16383, 16384, 2**21 - 1, 2**21, 2**28 - 1]
    columns = {"a": Column(np.array([edges, edges[::-1]]), np.array([9, 3]))}
    assert serialize_rows(columns) == [naive(columns, 0), naive(columns, 1)]


@pytest.mark.parametrize("below", [2**14, 2**17, 2**17 + 1])
def test_many_numbers(below):
    rng = np.random.default_rng(0)
    values = rng.integers(0, below, (200, 100))
    values[0, :6] = [0, 127, 128, 16383, min(below - 1, 16384), below - 1]
    counts = rng.integers(0, 101, 200)
    counts[0] = 100
    # What is padding may be anything.
    values[np.arange(100) >= counts[:, None]] -= 5
    columns = {"a": Column(values, counts)}
    assert serialize_rows(columns) == [naive(columns, row) for row in range(200)]


@pytest.mark.parametrize("wrong", [-1, 2**28])
def test_numbers_out_of_range(wrong):
    with pytest.raises(ValueError, match=rf"columns\['a'\] must be from 0 to 2\^28 - 1, got {wrong}"):
        serialize_rows({"a": Column(np.array([[1, wrong]]), np.array([2]))})
    padding = {"a": Column(np.array([[1, wrong]]), np.array([1]))}
    assert serialize_rows(padding) == [serialize({"a": [1]})]
