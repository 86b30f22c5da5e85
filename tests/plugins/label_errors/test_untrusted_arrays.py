"""The arrays of a stranger run no code."""

import numpy as np
import pytest

from plugins.label_errors.artifacts import PROBABILITIES_FILE, HeldOutProbabilities
from tests.keras_bert.export.test_untrusted_files import Touch


def test_arrays_with_pickles(tmp_path):
    ran = tmp_path / "ran"
    np.savez(tmp_path / PROBABILITIES_FILE, labels=np.array([Touch(ran)], object))
    with pytest.raises(ValueError, match=r"must hold the probabilities of held-out rows, got an error: .*pickle"):
        HeldOutProbabilities(tmp_path).read()
    assert not ran.exists()
