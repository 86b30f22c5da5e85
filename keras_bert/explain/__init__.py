"""Looking inside of models: the attention of every family."""

from keras_bert.explain.attention import Attention, attentions
from keras_bert.explain.rollout import rollout
from keras_bert.explain.tokens import Tokens

__all__ = ["Attention", "Tokens", "attentions", "rollout"]
