"""The states of words in every layer of a model."""

import dataclasses
from collections.abc import Sequence

import keras
import numpy as np

from keras_bert.core.checks import check
from keras_bert.models.states import hidden_states
from keras_bert.tasks.base import Task, run_rows, slices
from keras_bert.tasks.checks import as_sentences, is_keras_model
from keras_bert.tasks.word_rows import pack_words, tokenize_words
from plugins.explain.tokens import Array

# Sentences whose tokens are in memory at once; only the states of words stay.
_SENTENCES_AT_ONCE = 256


@dataclasses.dataclass(frozen=True)
class WordStates:
    """The states of the words of sentences.

    Attributes:
        states: the state of each word in each layer, the embeddings first, float32 (layers + 1, words, hidden).
        words: the index of each word among the words of all sentences (words,); words without tokens, as those of
            control characters alone, have no state.
    """

    states: Array
    words: Array
    sentences: Array
    left_out: int


def word_states(task: Task, sentences: Sequence[Sequence[str]], *, batch_size: int = 32) -> WordStates:
    """The states of words in all layers, of the model as `predict` runs it, with its adapter.

    A word has the state of its first token (Devlin et al. 2019, section 5.3). Each word is tokenized by itself.
    A sentence with more tokens than `task.max_length` is read in rows that overlap by a quarter, and each word in the
    row with the most context on both sides, as `TokenClassification.predict_tags` does: no word is lost.

    Raises:
        ValueError: there are no sentences, no word has a token, or the task's model is an exported file.
    """
    owner, room, tokenizer = "word_states", task.max_length - 2, task.tokenizer
    rule = "be a Keras model; the states inside a file cannot be read"
    check(owner, "task.model", is_keras_model(task.model), rule, type(task.model).__name__)
    check(owner, "batch_size", batch_size >= 1, "be at least 1", batch_size)
    sentences = as_sentences("sentences", sentences)
    states, words, before = [], [], 0
    with task._answering():
        encoder = task.encoder
        # The adapter that is attached now gives the length of the prompt, whose states are left out.
        model = keras.Model(encoder.input, hidden_states(encoder))
        for part in (sentences[rows] for rows in slices(len(sentences), _SENTENCES_AT_ONCE)):
            tokenized = tokenize_words(tokenizer, part)
            rows = pack_words(tokenized, room, overlap=room // 4)
            if len(rows.word):
                features = rows.model_inputs(cls_id=tokenizer.cls_id, sep_id=tokenizer.sep_id, pad_id=tokenizer.pad_id)
                outputs = run_rows(model, features, task.positions, batch_size)
                by_layer = [rows.first_tokens(layer) for layer in zip(*outputs, strict=True)]
                states.append(np.stack([np.asarray(array, "float32") for _, array in by_layer]))
                words.append(by_layer[0][0] + before)
            before += len(tokenized.sizes)
    rule = f"hold a word that has tokens; {len(sentences)} sentences have none"
    check(owner, "sentences", bool(states), rule, sentences[:1])
    indices = np.concatenate(words)
    number = np.repeat(np.arange(len(sentences)), [len(sentence) for sentence in sentences])[indices]
    return WordStates(np.concatenate(states, axis=1), indices, number, before - len(indices))
