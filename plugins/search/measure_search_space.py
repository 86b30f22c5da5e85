"""A teacher and the rows of its tasks -> SearchSpace: the largest student, and candidate vocabularies."""

from components.artifacts.standard import Model, TaskExamples
from components.dsl.component import Input, Output, component
from components.dsl.step_folders import report_progress
from components.training.model_folder import read_model
from components.training.vocabulary import count_tokens
from keras_bert.options.compression import has_prunable_blocks
from plugins.search.artifacts import SearchBounds, SearchSpace, VocabularySize

# Candidate sizes, as shares of the vocabulary and of its entries that occur in training rows.
_OF_ALL, _OF_SEEN = (1 / 2, 1 / 4, 1 / 8, 1 / 16), (1.0, 1 / 2)


@component(libraries=("keras", "numpy", "tensorflow", "tensorflow-text", "tokenizers"))
def measure_search_space(
    teacher: Input[Model], examples: Input[list[TaskExamples]], search_space: Output[SearchSpace]
) -> None:
    """Measures a teacher's shape, and the number of validation tokens that smaller vocabularies keep."""
    import numpy as np

    from keras_bert.models.encoder import config_of
    from keras_bert.tokenizers.fitting import choose_vocabulary

    report_progress(0, 1, "counting tokens")
    task = read_model(teacher)
    config, tokenizer = config_of(task.model), task.tokenizer
    # The full vocabulary, then smaller ones of the most frequent tokens of training rows.
    train, validation = (
        np.sum([count_tokens(rows, split, tokenizer) for rows in examples], axis=0) for split in ("train", "validation")
    )
    seen = len(choose_vocabulary(tokenizer, train))
    least = len(choose_vocabulary(tokenizer, train, min_count=int(train.max()) + 1))
    whole = tokenizer.vocabulary_size
    sizes = {round(share * whole) for share in _OF_ALL} | {round(share * seen) for share in _OF_SEEN}
    shares = {whole: 1.0}
    for size in sorted(sizes, reverse=True):
        if least <= size < whole:
            kept = np.asarray(choose_vocabulary(tokenizer, train, size=size))
            shares[len(kept)] = float(validation[kept].sum() / max(1, validation.sum()))
    vocabularies = [VocabularySize(size, share) for size, share in shares.items()]
    search_space.write(SearchBounds(config, task.max_length, has_prunable_blocks(config), vocabularies))
    search_space.counts = {"parameters": task.model.count_params(), "vocabulary": whole}
