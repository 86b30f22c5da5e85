"""The type of NumPy arrays of any shape."""

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
