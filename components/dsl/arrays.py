"""The type of NumPy arrays of any shape; imported for type checkers alone, as NumPy takes its time."""

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
