"""The objective of replaced tokens with the fused loss of the generator over the vocabulary."""

import keras
import tensorflow as tf

from keras_bert.fused.masked_tokens import draw_tokens
from keras_bert.fused.objective import FusedObjective
from keras_bert.fused.pretraining import FusedPretrainingObjective, rows_of
from keras_bert.objectives.base import Batch, Sums, call_model
from keras_bert.objectives.replaced_tokens import ReplacedTokensObjective, measure_replaced
from keras_bert.options.pretraining import Generator


class FusedReplacedTokensObjective(FusedObjective):
    """`ReplacedTokensObjective` of a model of `build_joint` with the fused loss over the vocabulary."""

    def __init__(self, model: keras.Model, generator: Generator) -> None:
        super().__init__(ReplacedTokensObjective(generator), model)
        self._masked = FusedPretrainingObjective(model.get_layer("generator"), next_sentence=False)

    def _sums(self, batch: Batch, training: bool) -> Sums:
        replacement = self._model.get_layer("token_replacement")
        states = self._masked.run(batch, training)
        seeds = replacement.seeds(batch["mask_positions"], batch["mask_ids"], training)
        drawn = draw_tokens(
            tf.stop_gradient(rows_of(states["masked"])),
            *self._masked.output_weights(),
            *(tf.reshape(seed, (-1,)) for seed in seeds),
        )
        hidden = (batch[name] for name in ("token_ids", "mask_positions", "mask_ids", "mask_weights"))
        token_ids, is_replaced = replacement.replace(tf.reshape(drawn, tf.shape(seeds[0])), *hidden)
        logits = call_model(self._model.get_layer("discriminator"), {**batch, "token_ids": token_ids}, training)
        detection = measure_replaced(logits, is_replaced, batch["padding_mask"])
        return self._masked.measure(states, batch) | detection
