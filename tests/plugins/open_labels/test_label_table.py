"""The table of labels: its scores against normal densities, and what additions, undo and merging do."""

import dataclasses
import sys
import threading

import numpy as np
import pytest
from scipy.stats import norm

from plugins.open_labels.label_file import pack_export
from plugins.open_labels.label_table import Label, LabelSpace, LabelTable

WIDTH = 6


def rows(labels, rng, count=40, width=WIDTH):
    """Vectors of labels whose means lie 3 standard deviations apart, and the label of each."""
    means = 3.0 * rng.normal(size=(len(labels), width))
    vectors = np.concatenate([mean + rng.normal(size=(count, width)) for mean in means])
    return vectors.astype("float32"), [label for label in labels for _ in range(count)], means.astype("float32")


@pytest.fixture
def table():
    vectors, labels, means = rows("abcd", np.random.default_rng(0))
    return LabelTable.fit(vectors, labels, names=list("abcd"), name_vectors=means + 1.0)


def test_scores_are_ratios_of_normal_densities():
    """The closed form of Ioffe 2006: a label's mean is normal given its examples, which the mean of all shrinks."""
    rng = np.random.default_rng(1)
    variances, places = rng.uniform(0.1, 4.0, 3), rng.normal(size=(5, 3))
    space = LabelSpace(np.zeros(3), np.eye(3), variances, np.zeros(3), 1.0)
    examples = [rng.normal(size=(count, 3)) for count in (1, 4)]
    scores = space.score(places, np.stack([given.sum(axis=0) for given in examples]), np.array([1.0, 4.0]))
    for number, given in enumerate(examples):
        posterior = variances / (len(given) * variances + 1)
        with_label = norm.logpdf(places, posterior * given.sum(axis=0), np.sqrt(1 + posterior)).sum(axis=1)
        without = norm.logpdf(places, 0.0, np.sqrt(1 + variances)).sum(axis=1)
        np.testing.assert_allclose(scores[:, number], with_label - without, atol=1e-12)


def test_rows_get_their_labels_and_others_none(table):
    vectors, labels, _ = rows("abcd", np.random.default_rng(0))
    scores = table.scores(vectors)
    assert (
        np.mean([table.labels[best] == label for best, label in zip(scores.argmax(axis=1), labels, strict=True)]) > 0.97
    )
    assert (scores.max(axis=1) >= table.space.threshold).mean() > 0.9
    far = table.scores(np.full((1, WIDTH), 40.0, "float32"))
    assert far.max() < table.space.threshold


@pytest.mark.parametrize("count", [0, 1, 8])
def test_an_added_label_is_answered(table, count):
    rng = np.random.default_rng(3)
    mean = table.space.center + np.array([9.0, -9, 0, 0, 0, 0], "float32")
    examples, new = (mean + rng.normal(size=(size, WIDTH)).astype("float32") for size in (count, 50))
    table.add("new", examples, None if count else mean - 1.0)
    assert table["new"].source == ("examples" if count else "name")
    assert table["new"].added == count
    assert np.mean(table.scores(new).argmax(axis=1) == 4) > 0.9


def test_trained_labels_lose_no_more_rows_than_allowed():
    """The bias is that of labels that were left out; here it is tried with labels that the table has never seen."""
    rng = np.random.default_rng(2)
    names = [chr(ord("a") + place) for place in range(20)]
    means = 1.2 * rng.normal(size=(20, WIDTH))

    def draw(labels, count):
        vectors = [means[names.index(label)] + rng.normal(size=(count, WIDTH)) for label in labels]
        return np.concatenate(vectors).astype("float32"), np.repeat(labels, count)

    trained, added = names[:16], names[16:]
    vectors, labels = draw(trained, 60)
    tested, truth = draw(trained, 500)
    losses = {}
    for allowed in (0.005, 0.02, 1.0):
        table = LabelTable.fit(vectors, list(labels), names=trained, name_vectors=means[:16], allowed_loss=allowed)
        before = np.array(table.labels)[table.scores(tested).argmax(axis=1)] == truth
        examples = np.random.default_rng(3)
        for label in added:
            table.add(label, means[names.index(label)] + examples.normal(size=(8, WIDTH)))
        after = np.array(table.labels)[table.scores(tested).argmax(axis=1)] == truth
        losses[allowed] = before.mean() - after.mean()
    assert losses[0.005] < 0.01
    assert losses[0.005] < losses[0.02] < 0.03 < losses[1.0], losses


def test_the_bias_falls_with_the_number_of_examples(table):
    biased = LabelTable(dataclasses.replace(table.space, added_bias=6.0), {name: table[name] for name in "abcd"})
    plain = LabelTable(dataclasses.replace(table.space, added_bias=0.0), {name: table[name] for name in "abcd"})
    vectors, *_ = rows("ab", np.random.default_rng(5))
    for changed in (biased, plain):
        changed.add("new", vectors[:2])
        changed.add_examples("a", vectors[2:3])
    np.testing.assert_allclose(plain.scores(vectors) - biased.scores(vectors), [[0.0] * 4 + [6.0]] * len(vectors))
    for changed in (biased, plain):
        changed.add_examples("new", vectors[2:24])
    np.testing.assert_allclose(plain.scores(vectors) - biased.scores(vectors), [[0.0] * 4 + [2.0]] * len(vectors))
    # Whether a text has none of the labels is decided without the bias.
    far = table.space.center + np.array([[9.0, -9, 0, 0, 0, 0]], "float32")
    for changed in (biased, plain):
        changed.add("far", far)
    one, other = biased.answer(far)[0], plain.answer(far)[0]
    assert one.label == other.label == "far"
    assert one.score == pytest.approx(other.score)
    assert one.probability < other.probability


def test_a_copy_changes_apart(table):
    vectors, *_ = rows("ab", np.random.default_rng(5))
    before, copied = table.scores(vectors), table.copy()
    copied.add_examples("a", vectors[:3])
    np.testing.assert_array_equal(table.scores(vectors), before)
    assert copied["a"].added == 3
    with pytest.raises(ValueError, match="undo must follow a change"):
        table.undo()


def test_undo_gives_the_old_answers_bit_for_bit(table):
    vectors, *_ = rows("ab", np.random.default_rng(5))
    before, labels = table.scores(vectors), table.labels
    table.add("new", vectors[:3])
    table.add_examples("a", vectors[3:5])
    table.rename("b", "c2")
    table.remove("d")
    assert table.labels == ("a", "c2", "c", "new")
    for _ in range(4):
        table.undo()
    assert table.labels == labels
    np.testing.assert_array_equal(table.scores(vectors), before)
    with pytest.raises(ValueError, match="undo must follow a change, got 'none'"):
        table.undo()


def test_no_change_of_another_thread_is_lost(table):
    vectors, *_ = rows("ab", np.random.default_rng(5))

    def change(thread):
        for number in range(60):
            table.add(f"{thread} {number}", vectors[:1])
            table.add_examples("a", vectors[:1])

    threads = [threading.Thread(target=change, args=(thread,)) for thread in range(4)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert (len(table.labels), table["a"].added) == (4 + 4 * 60, 4 * 60)


def test_examples_at_once_and_one_by_one_are_the_same(table):
    vectors, *_ = rows("ab", np.random.default_rng(5))
    table.add("once", vectors[:4])
    table.add("by one", vectors[:1])
    for row in range(1, 4):
        table.add_examples("by one", vectors[row : row + 1])
    once, by_one = table.scores(vectors)[:, -2:].T
    np.testing.assert_allclose(once, by_one, rtol=1e-5, atol=1e-4)


def test_a_table_comes_back_from_bytes(table):
    vectors, *_ = rows("ab", np.random.default_rng(5))
    table.add("new", vectors[:3])
    table.add("naïve 名", vectors[:0], vectors[3])
    again = LabelTable.from_bytes(table.as_bytes())
    np.testing.assert_array_equal(again.scores(vectors), table.scores(vectors))
    assert again["new"].added == 3
    assert again.labels == ("a", "b", "c", "d", "new", "naïve 名")
    assert again["naïve 名"].source == "name"
    assert again.space.digest() == table.space.digest()
    assert again.as_bytes() == table.as_bytes()
    content = table.as_bytes()
    for damaged in (b"", content[:40], content[:-1], content + b"1", b"X" + content[1:]):
        with pytest.raises(ValueError, match=r"content must be a whole table of labels, got '[0-9]+ bytes'"):
            LabelTable.from_bytes(damaged)
    with pytest.raises(ValueError, match="label_table must be that of a saved task, got "):
        LabelTable.from_text("?")


def test_exports_of_two_devices_are_merged(table):
    vectors, *_ = rows("ab", np.random.default_rng(5))
    content, whole = table.as_bytes(), table.copy()
    whole.add("new", vectors[:5])
    whole.add_examples("a", vectors[5:6])
    devices = [LabelTable.from_bytes(content) for _ in range(2)]
    devices[0].add("new", vectors[:2])
    devices[1].add("new", vectors[2:5])
    devices[1].add_examples("a", vectors[5:6])
    for device in devices:
        table.merge(device.export())
    np.testing.assert_allclose(table.scores(vectors), whole.scores(vectors), rtol=1e-5, atol=1e-4)
    table.undo()
    assert table["new"].added == 2
    other, labels, means = rows("abcd", np.random.default_rng(9))
    stranger = LabelTable.fit(other, labels, names=list("abcd"), name_vectors=means)
    with pytest.raises(
        ValueError, match=r"space must be [0-9a-f]{16}, the space of this table: sums of another encoder"
    ):
        table.merge(stranger.export())


def exported(table, count, number):
    """What a device exports of a label with so many examples, whose sums are this number."""
    none, sums = np.zeros(WIDTH, "float32"), np.full(WIDTH, number, "float32")
    return pack_export(table.space, {"new": Label(none, float(count), "examples", count, sums)})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda table: table.add("a", np.ones((1, WIDTH))), "label must be a new label; `add_examples` adds to one"),
        (lambda table: table.add(" ", np.ones((1, WIDTH))), "label must not be empty"),
        (lambda table: table.add("new", np.ones((0, WIDTH))), "vectors must hold at least one example, got 0"),
        (lambda table: table.add("new", np.ones((1, 3))), "vectors must be 6 wide"),
        (lambda table: table.add("new", np.full((1, WIDTH), np.nan)), "vectors must be finite numbers"),
        (lambda table: table.add_examples("a", np.full((1, WIDTH), 1e39)), "vectors must be finite numbers"),
        (lambda table: table.answer(np.full((1, WIDTH), np.nan)), "vectors must be finite numbers"),
        (lambda table: table.merge(exported(table, 1, np.nan)), "vectors must be finite numbers"),
        (lambda table: table.merge(exported(table, -1, 0.0)), "content must be a whole export of labels"),
        (lambda table: table.add_examples("e", np.ones((1, WIDTH))), r"label must be one of \['a', 'b', 'c', 'd'\]"),
        (lambda table: table.rename("a", "b"), r"new_label must be none of \['a', 'b', 'c', 'd'\], got 'b'"),
        (lambda table: table.remove("e"), "label must be one of"),
    ],
)
def test_wrong_changes_are_refused_and_change_nothing(table, change, message):
    before = table.as_bytes()
    with pytest.raises(ValueError, match=message):
        change(table)
    assert table.as_bytes() == before


@pytest.mark.parametrize(
    ("labels", "rule"),
    [
        ("aaaa", "labels must be at least two"),
        ("abcd", "rows must be at least two of one label"),
        ("aabb", "rows must differ within a label"),
    ],
)
def test_rows_that_teach_nothing_are_refused(labels, rule):
    names, vectors = sorted(set(labels)), np.eye(4)[[0, 0, 1, 1]]
    with pytest.raises(ValueError, match=rule):
        LabelTable.fit(vectors, list(labels), names=names, name_vectors=np.eye(4)[: len(names)])


def test_a_removed_label_leaves_the_others_as_they_are(table):
    vectors, *_ = rows("ab", np.random.default_rng(5))
    before = table.scores(vectors)
    table.remove("b")
    np.testing.assert_array_equal(table.scores(vectors), before[:, [0, 2, 3]])
    assert isinstance(table["a"], Label)
