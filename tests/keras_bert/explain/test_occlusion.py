"""Deletion curves: by hand, and faster in the order of the attribution."""

import numpy as np
import pytest

from keras_bert.explain.attribution import attributions
from keras_bert.explain.occlusion import deletion_curve
from tests.keras_bert.explain.family_tasks import family_task
from tests.keras_bert.interop.checkpoints import PIECES

pytest.importorskip("tensorflow_text", reason="the tokenizer is TensorFlow's")
from keras_bert.tokenizers.tokenizer import Tokenizer

TEXT = "abc d ef"


@pytest.fixture(scope="module")
def task():
    return family_task("bert", Tokenizer(PIECES, True))


@pytest.mark.parametrize(("baseline", "name"), [("[MASK]", "mask_id"), ("[PAD]", "pad_id")])
def test_words_go_one_after_the_other(task, baseline, name):
    curve = deletion_curve(task, TEXT, [2, 0], task.labels[1], baseline=baseline)
    batch = {name: array.copy() for name, array in task.encode([TEXT]).items()}
    empty = getattr(task.tokenizer, name)
    places = {0: [1, 2, 3], 2: [5, 6]}
    expected = [task.forward(batch)[0][1]]
    for word in (2, 0):
        batch["token_ids"][0, places[word]] = empty
        expected.append(task.forward(batch)[0][1])
    np.testing.assert_allclose(curve, expected, atol=1e-5)


def test_the_first_word_of_an_occlusion_lowers_the_score_most(task):
    order = np.argsort(-attributions(task, TEXT, task.labels[0], method="occlusion").by_word())
    firsts = [deletion_curve(task, TEXT, [word], task.labels[0])[1] for word in range(3)]
    assert np.argmin(firsts) == order[0]


@pytest.mark.parametrize("order", [[0, 0], [3], [-1]])
def test_refused(task, order):
    with pytest.raises(ValueError, match=r"deletion_curve\.order must hold numbers of the 3 words, each once, got"):
        deletion_curve(task, TEXT, order)
    with pytest.raises(ValueError, match=r"deletion_curve\.baseline must be one of"):
        deletion_curve(task, TEXT, [0], baseline="[UNK]")
