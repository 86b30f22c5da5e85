"""Corpus -> Vocabulary: WordPiece from word counts that Beam makes, or BPE and unigram from the texts."""

import logging
from collections.abc import Callable, Iterator
from pathlib import Path

from components.artifacts.standard import Corpus, Vocabulary
from components.beam.engine import BeamOptions
from components.dsl.component import Input, Local, Output, component
from components.dsl.errors import InputError, input_errors
from components.dsl.step_folders import report_progress
from keras_bert.options.data import VocabularyKind

logger = logging.getLogger(__name__)

# Longer words are rare, and the learner's work grows with the square of the length.
_LONGEST_WORD = 24
_MOST_WORDS = 100_000
_ITERATIONS = 3
# A token that occurs once is not worth a row of the embedding.
_LEAST_COUNT = 2
# Each character takes two entries (at the start of a word and inside): at most a quarter of a large vocabulary.
_CHARACTER_SHARE = 8
_FEWEST_CHARACTERS = 128


@component(libraries=("tensorflow-text", "apache-beam", "tokenizers"))
def build_vocabulary(
    corpus: Input[Corpus],
    vocabulary: Output[Vocabulary],
    kind: VocabularyKind = "wordpiece",
    size: int = 8000,
    lowercase: bool = True,
    beam: Local[BeamOptions] = BeamOptions(),
) -> None:
    """Learns a vocabulary of exactly `size` entries, special tokens first.

    Raises:
        InputError: the corpus does not support so many entries, or its characters need more.
    """
    if kind != "wordpiece":
        _learn_subwords(corpus, vocabulary, kind, size, lowercase)
        return
    from components.corpus.word_counts import count_words
    from keras_bert.tokenizers.tokenizer import Tokenizer
    from keras_bert.tokenizers.wordpiece_vocabulary import SPECIAL_TOKENS

    report_progress(0, 1, "counting words")
    shards = sorted(corpus.path.glob("corpus-*.jsonl.gz"))
    counts, words, error = count_words(shards, lowercase, beam, corpus.manifest()["counts"]["bytes"], vocabulary.path)
    if error:
        logger.warning("the corpus has so many different words that counts of words may be up to %d too low", error)
    entries = learn_entries(counts, size, SPECIAL_TOKENS)
    Tokenizer(entries, lowercase).save(vocabulary.path)
    vocabulary.counts = {"entries": len(entries), "words": words}


def _learn_subwords(corpus: Corpus, vocabulary: Vocabulary, kind: VocabularyKind, size: int, lowercase: bool) -> None:
    from components.corpus.shards import read_shard
    from keras_bert.tokenizers.learning import learn_subwords

    shards = sorted(corpus.path.glob("corpus-*.jsonl.gz"))

    def texts() -> Iterator[str]:
        for number, shard in enumerate(shards):
            report_progress(number, len(shards) + 1, "reading texts")
            for _, text in read_shard(Path(shard).read_bytes()):
                yield from text.split("\n")
        report_progress(len(shards), len(shards) + 1, "learning tokens")

    with input_errors("vocabulary."):
        learnt = learn_subwords(texts(), kind, size, lowercase=lowercase)
    learnt.save(vocabulary.path)
    vocabulary.counts = {"entries": learnt.vocabulary_size}


def learn_entries(counts: dict[str, int], size: int, special: tuple[str, ...]) -> list[str]:
    """Learns `size` entries: the special tokens, every common character (also as `##c`), then the most frequent tokens.

    tensorflow-text's learner makes all tokens above a threshold of frequency. This searches a threshold that gives a
    few more than `size`, and drops the least frequent ones.
    """
    learn = _learner(counts, size, special)
    entries = search_threshold(learn, size, sorted(counts.values(), reverse=True))
    if entries is None:
        supported, limit = len(learn(_LEAST_COUNT)), size
        # A smaller vocabulary keeps fewer characters, and with them fewer words.
        while supported < limit:
            limit, supported = supported, len(_learner(counts, supported, special)(_LEAST_COUNT))
        raise InputError(f"vocabulary.size must be at most {limit} for this corpus, got {size}")
    return entries[:size]


def _learner(counts: dict[str, int], size: int, special: tuple[str, ...]) -> Callable[[int], list[str]]:
    """A function from a threshold to all tokens that occur at least so often."""
    from tensorflow_text.tools.wordpiece_vocab import wordpiece_tokenizer_learner_lib as learner

    words = [word for word in sorted(counts) if len(word) <= _LONGEST_WORD and word not in special]
    ranked = [(word, counts[word]) for word in sorted(words, key=lambda word: -counts[word])]
    characters = learner.get_allowed_chars(ranked, max(_FEWEST_CHARACTERS, size // _CHARACTER_SHARE))
    ranked = learner.filter_input_words(ranked, characters, _MOST_WORDS)
    fixed = [*special, *sorted(characters), *(f"##{character}" for character in sorted(characters))]
    if size < len(fixed):
        raise InputError(f"vocabulary.size must be at least {len(fixed)} for this corpus, got {size}")
    parameters = learner.Params(
        None, None, _ITERATIONS, _MOST_WORDS, _LONGEST_WORD, len(characters), size, 0.0, True, "##", list(special)
    )
    return lambda threshold: list(dict.fromkeys([*fixed, *learner.learn_with_thresh(ranked, threshold, parameters)]))


def search_threshold(learn: Callable[[int], list[str]], size: int, falling_counts: list[int]) -> list[str] | None:
    """The tokens for a threshold that gives `size` or up to 10 % more, else for the highest one that gives enough.

    `learn` gives fewer tokens for a higher threshold; `falling_counts` are the counts of the words, the highest first.
    The result is None if no threshold gives enough.
    """
    # The count of the word of this rank is a good first guess, as most entries of a vocabulary are whole words.
    guess = falling_counts[min(size, len(falling_counts)) - 1] if falling_counts else _LEAST_COUNT
    threshold = max(_LEAST_COUNT, guess)
    low, high, best, attempt = _LEAST_COUNT, None, None, 0
    while high is None or low <= high:
        attempt += 1
        report_progress(attempt, attempt + 3, f"learning tokens that occur at least {threshold} times")
        entries = learn(threshold)
        if len(entries) >= size:
            best, low = entries, threshold + 1
            if len(entries) <= 1.1 * size:
                break
            threshold = threshold * 2 if high is None else (low + high) // 2
        else:
            high = threshold - 1
            threshold = max(_LEAST_COUNT, threshold * 2 // 3) if best is None else (low + high) // 2
    return best
