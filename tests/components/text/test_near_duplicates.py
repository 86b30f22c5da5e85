import numpy as np
import pytest

from components.text.near_duplicates import Signer, choose_bands, find_clusters, find_repeats, hash_words, make_shingles
from tests.keras_bert.core.test_folding import FORMS


def words(rng, count):
    return [f"w{number}" for number in rng.integers(0, 5000, count)]


# datasketch 2.0.0: from datasketch.lsh import _optimal_param; _optimal_param(t / 20, permutations, 0.5, 0.5)
GOLDEN_BANDS = {
    16: {1: (16, 1), 4: (7, 1), 10: (5, 3), 14: (3, 5), 16: (2, 8), 18: (1, 15), 20: (1, 16)},
    128: {1: (32, 1), 4: (28, 2), 10: (25, 5), 14: (14, 9), 16: (9, 13), 18: (5, 25), 20: (1, 128)},
    256: {1: (32, 1), 4: (85, 3), 10: (42, 6), 14: (25, 10), 16: (17, 15), 18: (9, 28), 20: (1, 256)},
}


@pytest.mark.parametrize("permutations", GOLDEN_BANDS)
def test_bands_are_those_of_datasketch(permutations):
    golden = GOLDEN_BANDS[permutations]
    assert {t: choose_bands(t / 20, permutations) for t in golden} == golden


def test_texts_meet_as_often_as_the_bands_say():
    signer = Signer(0.8, 128, 1)
    rng = np.random.default_rng(0)
    for similarity in (0.5, 0.8, 0.95):
        met, trials = 0, 300
        for trial in range(trials):
            shared = round(200 * similarity)
            common = [f"c{trial}_{number}" for number in range(shared)]
            first, second = (
                [*common, *(f"{prefix}{trial}_{n}" for n in range((200 - shared) // 2))] for prefix in "xy"
            )
            rng.shuffle(first)
            met += bool((signer.sign(" ".join(first)) == signer.sign(" ".join(second))).any())
        expected = 1 - (1 - similarity**signer.rows) ** signer.bands
        assert abs(met / trials - expected) < 0.09


def test_case_punctuation_and_white_space_do_not_count():
    first, second = make_shingles("Hello, World! It is\nlate now.", 3), make_shingles("hello world it is late NOW", 3)
    assert (first == second).all()
    assert len(first) == 4
    assert (make_shingles("\u00c9t\u00e9, 2 mots", 2) == make_shingles("\u00e9t\u00e9 2 MOTS", 2)).all()


def test_every_chinese_character_is_a_word():
    assert len(make_shingles("\u4f60\u597d\u518d\u89c1", 2)) == 3
    assert len(hash_words("ab\u4f60\u597dcd\u3002 \u201ce\u201d")) == 5


def test_vietnamese_and_greek_words_are_not_cut_at_their_accents():
    assert len(hash_words("Ti\u1ebfng Vi\u1ec7t, \u1fa7")) == 3


@pytest.mark.parametrize(("text", "other"), FORMS)
def test_forms_of_a_text_have_the_same_words(text, other):
    assert hash_words(text).tolist() == hash_words(other).tolist()


def test_words_have_the_same_hashes_whatever_stands_beside_them():
    plain, accented = hash_words("some plain words"), hash_words("some pl\u00e4in words \u4f60")
    assert plain[[0, 2]].tolist() == accented[[0, 2]].tolist()


@pytest.mark.parametrize("text", ["", "...", "one", "\u3002"])
def test_short_texts_have_bands(text):
    signer = Signer(0.8, 128, 5)
    assert signer.sign(text).shape == (signer.bands,)


def test_repeats_point_at_the_first_document_with_their_hash():
    hashes = np.array([[7, 0], [5, 0], [7, 0], [9, 0], [7, 0], [5, 0], [7, 1]], np.uint64)
    keys, places = (np.array(numbers, np.uint64) for numbers in ([3, 1, 1, 4, 1, 6, 0], [0, 0, 2, 0, 1, 0, 0]))
    repeats, firsts = find_repeats(hashes, keys, places)
    assert sorted(zip(repeats.tolist(), firsts.tolist(), strict=True)) == [(0, 4), (2, 4), (5, 1)]


def test_two_equal_bands_of_one_document_are_no_repeat():
    same = np.array([4, 4], np.uint64)
    assert [len(positions) for positions in find_repeats(same[:, None], same, same)] == [0, 0]


def test_clusters():
    pairs = np.array([[4, 2], [2, 5], [1, 3]])
    assert find_clusters(6, pairs).tolist() == [0, 1, 2, 1, 2, 2]


def test_long_texts_are_signed_as_short_ones_are(monkeypatch):
    text = " ".join(f"word{number * 7919 % 1000}" for number in range(3000))
    signer = Signer(0.8, 128, 5)
    long = signer.sign(text)
    monkeypatch.setattr("components.text.near_duplicates._TABLE_SHINGLES", 10_000)
    assert signer.sign(text).tolist() == long.tolist()
