"""Exports of a former model in the table of a newer one: mapped sums of its vectors."""

from types import SimpleNamespace

import numpy as np
import pytest

from plugins.open_labels.former import merge_former
from plugins.open_labels.label_file import unpack_export
from plugins.open_labels.label_table import LabelTable
from tests.plugins.open_labels.test_label_table import WIDTH, rows

NAMES = list("abcd")


def make_model(change):
    """A model whose vectors of the texts "0", "1", ... are changed ones of the same rows."""
    vectors, labels, means = rows(NAMES, np.random.default_rng(0))
    table = LabelTable.fit(change(vectors), labels, names=NAMES, name_vectors=change(means))
    return SimpleNamespace(table=table, predict=lambda texts: change(vectors[[int(text) for text in texts]]))


def texts(count=160):
    return [str(number) for number in range(count)]


def rotate(vectors):
    turned = np.linalg.qr(np.random.default_rng(1).normal(size=(WIDTH, WIDTH)))[0]
    return (3.0 * vectors @ turned + 2.0).astype("float32")


def draw(chance, count, place=9.0):
    """Vectors of a new label."""
    return (np.array([place, -place, 0, 0, 0, 0]) + chance.normal(size=(count, WIDTH))).astype("float32")


def test_sums_of_a_model_whose_vectors_are_turned_are_as_good_as_its_examples():
    former, newer, chance = make_model(lambda vectors: vectors), make_model(rotate), np.random.default_rng(2)
    examples, tested = draw(chance, 6), rotate(draw(chance, 40))
    devices = [former.table.copy() for _ in range(2)]
    devices[0].add("new", examples[:2])
    devices[1].add("new", examples[2:])
    devices[1].add_examples("a", former.predict(["0", "1"]))
    by_vectors = newer.table.copy()
    by_vectors.add("new", rotate(examples))
    by_vectors.add_examples("a", newer.predict(["0", "1"]))
    before = newer.table.as_bytes()
    worth = merge_former(newer, former, [device.export() for device in devices], texts())
    assert worth == pytest.approx(1.0, abs=1e-3)
    np.testing.assert_allclose(newer.table.scores(tested), by_vectors.scores(tested), rtol=0.02, atol=0.1)
    assert newer.table["new"].weight == pytest.approx(6.0, abs=0.01)
    # The examples are part of this release: devices do not export them again.
    assert unpack_export(newer.table.export(), newer.table.space, "the table") == {}
    assert (newer.table["new"].added, newer.table["a"].added) == (0, 0)
    newer.table.undo()
    assert newer.table.as_bytes() == before


def test_vectors_that_say_little_of_the_newer_ones_count_for_less():
    chance = np.random.default_rng(3)
    noise = chance.normal(size=(200, WIDTH))
    noisy = make_model(lambda vectors: (vectors + 2.0 * noise[: len(vectors)]).astype("float32"))
    former, newer = make_model(lambda vectors: vectors), make_model(lambda vectors: vectors)
    noisy.table.add("new", draw(chance, 4))
    worth = merge_former(newer, noisy, [noisy.table.export()], texts())
    assert 0.2 < worth < 0.8
    assert newer.table["new"].weight == pytest.approx(4 * worth)
    former.table.add("new", draw(chance, 4))
    with pytest.raises(ValueError, match=r"space must be [0-9a-f]{16}, the space of the former table: sums of another"):
        merge_former(newer, noisy, [former.table.export()], texts())
    with pytest.raises(ValueError, match="texts must be at least 50 texts, got 49"):
        merge_former(newer, noisy, [], texts(49))


@pytest.mark.parametrize("width", [1, WIDTH - 1, WIDTH + 1])
@pytest.mark.parametrize("is_alone", [True, False])
def test_sums_of_another_width_are_refused(width, is_alone):
    """A sum of one number was added to all coordinates."""
    former, newer = make_model(lambda vectors: vectors), make_model(rotate)
    device = former.table.copy()
    device.add("new", draw(np.random.default_rng(6), 2))
    exported = device.export()
    sums = np.ones(width, "float32").tobytes()
    other = exported[:8] + np.int32(width).tobytes() + exported[12 : -4 * WIDTH] + sums
    before = newer.table.as_bytes()
    with pytest.raises(ValueError, match="content must be a whole export of labels"):
        merge_former(newer, former, [other] if is_alone else [exported, other], texts())
    assert newer.table.as_bytes() == before


def test_merged_examples_are_not_exported_twice():
    table = make_model(lambda vectors: vectors).table
    device = table.copy()
    device.add("new", draw(np.random.default_rng(4), 3))
    table.merge(device.export())
    released = table.copy()
    released.release()
    np.testing.assert_array_equal(released.scores(device.space.center[None]), table.scores(device.space.center[None]))
    released.add_examples("new", draw(np.random.default_rng(5), 1))
    table.merge(released.export())
    assert (released["new"].weight, table["new"].weight) == (4.0, 4.0)
