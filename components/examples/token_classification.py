"""Sentences with a tag for each word."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from components.examples.base import Encoding, TaskRows, row_batches, serialize_padded
from components.files.tables import Record
from components.sources.tagged_words import Sentence, parse_lists
from components.sources.teacher_columns import stored_answer


class TaggedRows(TaskRows[Sentence]):
    """The words of a sentence and their tags."""

    name = "token_classification"
    long_rows = "split"
    fields = ("words", "tags")
    plural_name = "sentences"
    answers_by_word = True

    def parse(self, record: Record) -> Sentence:
        return parse_lists(record, ("words", "tags"))._replace(teacher=stored_answer(record))

    def key(self, row: Sentence) -> tuple[str, ...]:
        return (" ".join(row.words),)

    def answer(self, row: Sentence) -> str:
        return " ".join(row.tags)

    def labels(self, source: Any, train: Sequence[Sentence]) -> list[str]:
        labels: list[str] = source.label_order({tag for row in train for tag in row.tags})
        return labels

    def count_labels(self, rows: Iterable[Sentence]) -> Counter[str]:
        return Counter(tag for row in rows for tag in row.tags)

    def settings(self, encoding: Encoding, train: Sequence[Sentence]) -> dict[str, Any]:
        return {**super().settings(encoding, train), "labels": list(encoding.labels)}

    def records(self, rows: Sequence[Sentence], encoding: Encoding) -> Iterator[bytes]:
        """Records like the rows of `TokenClassification.examples`: a long sentence has several."""
        from keras_bert.core.losses import IGNORED
        from keras_bert.tasks.word_rows import pack_words, tokenize_words

        tokenizer = encoding.tokenizer
        for start, part in row_batches(rows):
            words = tokenize_words(tokenizer, [sentence.words for sentence in part])
            packed = pack_words(words, encoding.max_length - 2)
            inputs = packed.model_inputs(cls_id=tokenizer.cls_id, sep_id=tokenizer.sep_id, pad_id=tokenizer.pad_id)
            tags = np.array([encoding.label_numbers[tag] for sentence in part for tag in sentence.tags])
            label = np.full(inputs["token_ids"].shape, IGNORED)
            label[packed.row, packed.column + 1] = tags[packed.word]
            # Each record has a word with pieces, and all its words are of one sentence.
            first = np.unique(packed.row, return_index=True)[1]
            sentence_ids = start + np.searchsorted(words.splits, packed.word[first], side="right") - 1
            token_arrays, row_arrays = {"label": label}, {"row": sentence_ids}
            if encoding.has_teacher_answers:
                # (words, tags): zeros for the words of sentences without an answer.
                answers = np.zeros((len(tags), len(encoding.labels)), np.float32)
                starts = np.cumsum([0, *(len(sentence.words) for sentence in part)])
                for start_word, sentence in zip(starts, part, strict=False):
                    if sentence.teacher:
                        rows_of_words = np.reshape(sentence.teacher.numbers, (len(sentence.words), -1))
                        answers[start_word : start_word + len(sentence.words)] = rows_of_words
                token_arrays["teacher_answers"] = np.zeros((*label.shape, len(encoding.labels)), np.float32)
                token_arrays["teacher_answers"][packed.row, packed.column + 1] = answers[packed.word]
                sentences = [part[number - start] for number in sentence_ids]
                row_arrays["has_answers"] = np.array([int(bool(sentence.teacher)) for sentence in sentences])
                row_arrays["has_label"] = np.array([int(self.has_own_label(sentence)) for sentence in sentences])
            yield from serialize_padded(inputs, token_arrays, row_arrays)
