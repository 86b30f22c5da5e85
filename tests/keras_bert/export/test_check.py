import numpy as np
import pytest

from keras_bert.export.check import ParityError, check_agreement, check_parity, expected_agreement, parity_tolerance

REFERENCE = np.array([[1.0, 2.0], [3.0, -1.0], [0.5, 0.4]], np.float32)


def test_parity_returns_the_largest_difference_and_names_a_planted_one():
    assert check_parity("same", REFERENCE, REFERENCE.copy(), 0.0) == 0.0
    assert check_parity("near", REFERENCE, REFERENCE + 1e-3, 1e-2) == pytest.approx(1e-3, rel=1e-3)
    candidate = REFERENCE.copy()
    candidate[1, 0] += 0.25
    with pytest.raises(ParityError, match=r"^model.onnx must differ by at most 0.0001 .* got 0.25 in row 1: \[3.25"):
        check_parity("model.onnx", REFERENCE, candidate, 1e-4)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_none_never_pass(bad):
    candidate = REFERENCE.copy()
    candidate[2, 1] = bad
    with pytest.raises(ParityError, match="in row 2"):
        check_parity("model", REFERENCE, candidate, 1e9)
    with pytest.raises(ParityError, match=r"^model must answer with finite numbers, got others in row 2"):
        check_agreement("model", np.ones(3), candidate, 0.1)
    with pytest.raises(ParityError, match="in row 2"):
        check_parity("model", candidate, REFERENCE, 1e9)


@pytest.mark.parametrize("candidate", [REFERENCE[:2], REFERENCE[:, :1], np.zeros((0, 2)), REFERENCE[:, :, None]])
def test_other_shapes_are_refused(candidate):
    with pytest.raises(ParityError, match=r"^model must answer \(rows, \.\.\.\) like its reference, got \(.* against"):
        check_parity("model", REFERENCE, candidate, 1.0)


@pytest.mark.parametrize("shape", [(), (0,), (3,)])
def test_nothing_to_compare_never_passes(shape):
    with pytest.raises(ParityError, match=r"must answer \(rows, \.\.\.\) like its reference"):
        check_parity("model", np.zeros(shape), np.zeros(shape), 1.0)


@pytest.mark.parametrize(
    ("agreement", "rows"), [(np.ones(2), 3), (np.ones(3), 2), (np.ones(0), 0), (np.ones((3, 1)), 3)]
)
def test_rows_that_nobody_compared_are_refused(agreement, rows):
    with pytest.raises(ParityError, match=r"^int8 must answer each row, got \(\d, 2\) against \("):
        check_agreement("int8", agreement, np.zeros((rows, 2)), 0.5)


TAGS = np.array([[[1.0, 2.0], [3.0, -1.0], [0.0, 0.0]], [[0.5, 0.4], [1.0, 1.0], [2.0, 7.0]]], np.float32)
MASK = np.array([[1, 1, 0], [1, 1, 1]])


def test_a_mask_hides_outputs_at_padding_alone():
    candidate = TAGS.copy()
    candidate[0, 2] = (99.0, np.nan)
    assert check_parity("tags", TAGS, candidate, 0.0, MASK) == 0.0
    with pytest.raises(ParityError, match="in row 0"):
        check_parity("tags", TAGS, candidate, 1e9)
    candidate[1, 2, 1] += 0.5
    with pytest.raises(ParityError, match=r"got 0.5 in row 1: \[2.0, 7.5\] where \[2.0, 7.0\] was expected"):
        check_parity("tags", TAGS, candidate, 0.1, MASK)
    with pytest.raises(ParityError, match="in row 0"):
        check_parity("logits", REFERENCE, REFERENCE + 1, 0.5, np.zeros((3, 2), int))


def test_agreement_is_the_mean_over_the_rows():
    assert check_agreement("int8", np.array([1.0, 1.0, 0.0]), REFERENCE, 0.6) == pytest.approx(2 / 3)
    assert check_agreement("int8", np.array([1.0, 0.5, 0.25, 1.0]), np.zeros((4, 2, 3)), 0.5) == 0.6875
    assert check_agreement("int8", np.array([1.0, 1.0, 0.0]), REFERENCE, 0.9) == pytest.approx(2 / 3), "one may tip"
    message = r"^int8 must give the answers of its reference to at least 0.9000 of the rows, got 0.3667; least in row 2"
    with pytest.raises(ParityError, match=message):
        check_agreement("int8", np.array([1.0, 0.1, 0.0]), REFERENCE, 0.9)


@pytest.mark.parametrize("spread", [0.02, 0.05, 0.1])
def test_two_copies_with_independent_errors_agree_as_expected(spread):
    rows, draws = 500, np.random.default_rng(0)
    shares = []
    for _ in range(50):
        model = draws.normal(size=(rows, 3))
        one, other = (model + spread * draws.normal(size=model.shape) for _ in range(2))
        kept, agreement = (
            first.argmax(axis=1) == second.argmax(axis=1) for first, second in ((model, one), (one, other))
        )
        shares.append(agreement.mean() - expected_agreement(kept.astype("float64")))
    assert min(shares) > 0, "no copy is refused"
    assert np.mean(shares) < 0.07, "a share that is smaller by this is"


def test_a_copy_with_errors_of_six_times_the_size_is_refused():
    draws = np.random.default_rng(0)
    model = draws.normal(size=(500, 3))
    one, other = (model + spread * draws.normal(size=model.shape) for spread in (0.05, 0.3))
    kept, agreement = (first.argmax(axis=1) == second.argmax(axis=1) for first, second in ((model, one), (one, other)))
    with pytest.raises(ParityError, match="must give the answers"):
        check_agreement("int8", agreement, other, expected_agreement(kept))


@pytest.mark.parametrize(("rows", "spread"), [(16, 0.2), (64, 0.1)])
def test_copies_of_few_rows_are_not_refused_by_chance(rows, spread):
    draws, refused = np.random.default_rng(0), 0
    for _ in range(500):
        model = draws.normal(size=(rows, 2))
        one, other = (model + spread * draws.normal(size=model.shape) for _ in range(2))
        kept, agreement = (a.argmax(axis=1) == b.argmax(axis=1) for a, b in ((model, one), (one, other)))
        minimum = min(0.98, expected_agreement(kept.astype("float64")))
        refused += agreement.mean() < minimum and (~agreement).sum() > 1
    assert refused <= 0.01 * 500


def test_copies_without_errors_must_agree_and_nan_never_passes():
    assert 0.98 < expected_agreement(np.ones(200)) < 1
    assert 0 < expected_agreement(np.linspace(0, 1, 500)) < 0.5
    with pytest.raises(ParityError, match="least in row 1: nan"):
        check_agreement("int8", np.array([1.0, np.nan, 1.0]), REFERENCE, 0.1)


def test_outputs_may_differ_by_a_share_of_those_that_count():
    prices = np.array([[7000.0], [3400.0]], np.float32)
    tolerance = parity_tolerance(prices, np.ones((2, 1)), half=False)
    assert tolerance == pytest.approx(0.07)
    check_parity("prices", prices, prices + np.float32(0.004), tolerance)
    with pytest.raises(ParityError, match=r"^prices must differ by at most 0\.07 from its reference, got 0\.1"):
        check_parity("prices", prices, prices + np.float32(0.1), tolerance)
    # What stands at padding is not an output.
    tags = np.where(MASK[:, :, None] == 1, TAGS, 1e9).astype(np.float32)
    assert parity_tolerance(tags, MASK, half=False) == 1e-4
    assert parity_tolerance(REFERENCE, MASK, half=False) == 1e-4
    assert parity_tolerance(-REFERENCE, np.ones((3, 1)), half=True) == pytest.approx(0.02 * 3)
    tags = TAGS.copy()
    tags[0, 2] = -1e9  # padding
    assert parity_tolerance(tags, MASK, half=True) == pytest.approx(0.02 * 7)
