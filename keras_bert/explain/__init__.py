"""Looking inside of models: attention and attribution for every family, and for exported files."""

from keras_bert.explain.agreement import Agreement, compare
from keras_bert.explain.attention import Attention, attentions
from keras_bert.explain.attribution import Attribution, attributions
from keras_bert.explain.occlusion import deletion_curve
from keras_bert.explain.rollout import rollout
from keras_bert.explain.tokens import Tokens

__all__ = [
    "Agreement",
    "Attention",
    "Attribution",
    "Tokens",
    "attentions",
    "attributions",
    "compare",
    "deletion_curve",
    "rollout",
]
