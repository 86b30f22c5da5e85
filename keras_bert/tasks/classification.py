"""Classification of a text or of a pair of texts (Devlin et al. 2019, section 4.1)."""

import keras

from keras_bert.layers.dense import Dense


def build_classifier(encoder: keras.Model, num_labels: int, dropout: float = 0.1) -> keras.Model:
    """Puts a linear classifier on the pooled output.

    Args:
        encoder: what `build_encoder` returns; its weights are shared, not copied.
        num_labels: classes, at least 2.
        dropout: rate on the pooled output.

    Returns:
        A model from the encoder's inputs to logits (batch, num_labels).

    Raises:
        ValueError: there are fewer than 2 labels.
    """
    if num_labels < 2:
        raise ValueError(f"num_labels must be at least 2, got {num_labels}")
    pooled = keras.layers.Dropout(dropout, name="classifier_dropout")(encoder.output["pooled_output"])
    return keras.Model(encoder.input, Dense(num_labels, name="classifier")(pooled), name="classification")
