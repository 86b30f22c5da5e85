"""The pooling of the states of tokens into the vector of a text, and how vectors are compared."""

from typing import Literal

Pooling = Literal["cls", "mean"]
SimilarityFunction = Literal["cosine", "dot", "euclidean", "manhattan"]
