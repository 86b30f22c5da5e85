"""The type of NumPy arrays of any shape; only imported for type checkers, because importing NumPy takes time."""

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
