"""Pre-training: masked tokens and next sentences."""

import logging
import math

from components.artifacts import Model, PretrainingExamples, Vocabulary
from components.base import Input, Output, component, report_progress
from components.model_folder import write_model
from keras_bert.config import EncoderShape, Training

logger = logging.getLogger(__name__)


@component(libraries=("keras", "numpy", "tensorflow"))
def pretrain(
    examples: Input[PretrainingExamples],
    vocabulary: Input[Vocabulary],
    model: Output[Model],
    encoder: EncoderShape,
    training: Training = Training(learning_rate=1e-4),
) -> None:
    """Trains an encoder to predict masked tokens and next sentences; reports perplexity on held-out documents.

    Args:
        examples: masked sentence pairs.
        vocabulary: the pieces that their ids stand for.
        model: the encoder with both heads.
        encoder: its shape.
        training: how long and how to train.
    """
    from keras_bert.data import pretraining_dataset
    from keras_bert.encoder import build_encoder
    from keras_bert.pretraining import build_pretraining, pretraining_objective
    from keras_bert.records import read_features
    from keras_bert.tokenizer import Tokenizer
    from keras_bert.trainer import VALIDATION_BATCH, Trainer, make_deterministic

    make_deterministic(training.seed)
    features = read_features(examples.path)
    config = encoder.encoder_config(Tokenizer.load(vocabulary.path).vocabulary_size, features["max_length"])
    network = build_pretraining(build_encoder(config))
    trainer = Trainer(network, pretraining_objective, training, training.count_steps(features["counts"]["train"]))
    history = trainer.fit(
        pretraining_dataset(examples.path, "train", training.batch_size, seed=training.seed, shuffle=True, repeat=True),
        validation=pretraining_dataset(examples.path, "validation", VALIDATION_BATCH),
        on_progress=report_progress,
    )
    for entry in history:
        if "validation_masked_loss" in entry:
            entry["validation_perplexity"] = math.exp(entry["validation_masked_loss"])
            logger.info("step %d: held-out perplexity %.1f", entry["step"], entry["validation_perplexity"])
    write_model(model, network, vocabulary, {"task": "pretraining", "max_length": features["max_length"]}, history)
