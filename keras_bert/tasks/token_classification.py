"""One label for each word, as named entities or parts of speech (Devlin et al. 2019, section 5.3)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from keras_bert.core.checks import as_list, check
from keras_bert.metrics.calibration import probabilities
from keras_bert.metrics.entities import OUTSIDE
from keras_bert.tasks.answer_columns import ColumnType
from keras_bert.tasks.base import ROWS_AT_ONCE, Array, Features, Runtime, Task, slices
from keras_bert.tasks.checks import as_sentences, as_texts, check_labels, check_same_length, label_number
from keras_bert.tasks.entities import Entity, are_entity_tags, decode
from keras_bert.tasks.targets import RowWords, Target, UnexplainedRowError, first_tokens, word_number
from keras_bert.tasks.word_rows import WordRows, Words, pack_words, tokenize_words

if TYPE_CHECKING:
    import keras

    from keras_bert.objectives.base import TaskObjective
    from keras_bert.tokenizers.base import BaseTokenizer


def build_tagger(encoder: keras.Model, num_labels: int, *, dropout: float = 0.1) -> keras.Model:
    """Puts a linear classifier on the final state of every token of an encoder, whose weights are shared, not copied.

    Returns:
        A model from the encoder's inputs to logits (batch, length, num_labels).

    Raises:
        ValueError: there are fewer than 2 labels.

    Examples:
        >>> build_tagger(task.encoder, num_labels=3).output.shape
        (None, None, 3)
    """
    import keras

    from keras_bert.layers.dense import Dense
    from keras_bert.layers.dropout import Dropout
    from keras_bert.models.encoder import head_inputs, sequence_output
    from keras_bert.models.global_tokens import with_global_tokens

    if num_labels < 2:
        raise ValueError(f"num_labels must be at least 2, got {num_labels}")
    encoder = with_global_tokens(encoder, "none")
    states = Dropout(dropout, name="classifier_dropout")(head_inputs(encoder, sequence_output(encoder)))
    return keras.Model(encoder.input, Dense(num_labels, name="classifier")(states), name="token_classification")


class TokenClassification(Task):
    """A tag for each word.

    The first token of a word has the word's tag; loss and accuracy ignore special tokens, further tokens of a word, and
    padding. A sentence with more tokens than `max_length` is split into several rows, between words.

    Args:
        model: a model as `build_tagger` returns it, or an exported file; for tokenizer and max_length see `Task`.
        labels: the names of the tags, in the order of the logits. Entity tags are `O` and names as `B-person` and
            `I-person` (BIO or IOB1; IOBES has `E-` and `S-`, too). Other names, as parts of speech, suit all methods
            except `predict`. If one label begins as an entity tag does, all with `-` or `_` must be entity tags;
            others, as `X`, mark none.
        max_length: the maximum number of tokens of a row, special tokens included.

    Raises:
        TypeError: a label is not a string.
        ValueError: see `Task`; or there are not as many labels as outputs, one occurs twice, only some
            are entity tags, or `O` is missing among entity tags.

    Attributes:
        answers_words: whether `answer_values` and its kin give each word its tag; False, the default for entity tags,
            gives entities.

    Examples:
        >>> tagger = TokenClassification.build(task.encoder, task.tokenizer, labels=["O", "B-work"], max_length=16)
        >>> inputs, tags = tagger.examples([["film", "film"]], [["B-work", "O"]])
        >>> tags.tolist()
        [[-1, 1, 0, -1]]
        >>> len(tagger.predict_tags([["film", "film", "film"]])[0])
        3
    """

    name = "token_classification"
    truncates = False
    second_text = "unused"
    places = "words"
    link = "softmax"

    def __init__(
        self, model: keras.Model | Runtime, tokenizer: BaseTokenizer, *, labels: Sequence[str], max_length: int = 128
    ) -> None:
        super().__init__(model, tokenizer, max_length=max_length)
        shape: tuple[Any, ...] = getattr(model.output, "shape", ())
        check(type(self).__name__, "model", len(shape) == 3, "give logits (batch, length, labels)", shape)
        self.labels = check_labels(type(self).__name__, labels, shape[-1])
        self._has_entities = are_entity_tags(self.labels)
        self.answers_words = not self._has_entities
        self._continues = tokenizer.word_marks()

    @classmethod
    def build(
        cls,
        encoder: keras.Model,
        tokenizer: BaseTokenizer,
        *,
        labels: Sequence[str],
        max_length: int = 128,
        dropout: float = 0.1,
    ) -> Self:
        model = build_tagger(encoder, len(labels), dropout=dropout)
        task = cls(model, tokenizer, labels=labels, max_length=max_length)
        return task._with_drawn_weights(encoder)

    def objective(self, class_weights: Sequence[float] | None = None) -> TaskObjective:
        from keras_bert.objectives.tasks import TokenClassificationObjective

        return TokenClassificationObjective(class_weights)

    def loss(self) -> keras.losses.Loss:
        """Mean cross-entropy of the tagged tokens, in nats."""
        from keras_bert.core.losses import labelled_cross_entropy

        return labelled_cross_entropy()

    def metrics(self) -> list[keras.metrics.Metric]:
        """The share of right tags; for entities see `keras_bert.metrics.entities`."""
        from keras_bert.metrics.accuracy import LabelledAccuracy

        return [LabelledAccuracy()]

    def examples(self, words: Sequence[Sequence[str]], tags: Sequence[Sequence[str]]) -> tuple[Features, Array]:
        """Arguments of `model.fit`.

        Returns:
            The inputs, and the numbers of the tags, all (rows, length) int32: a tag's number at the first token of
            its word, `IGNORED` elsewhere. Rows are sentences in order; a long sentence has several rows, a sentence
            without tokens none. A word longer than a row is truncated.

        Raises:
            ValueError: a tag is unknown, or no word has a token.
        """
        from keras_bert.core.losses import IGNORED

        words, tags = as_sentences("words", words), as_sentences("tags", tags)
        check_same_length("words", words, "tags", tags)
        for row, (sentence, marks) in enumerate(zip(words, tags, strict=True)):
            check_same_length(f"words[{row}]", sentence, f"tags[{row}]", marks)
        numbers = self._numbers(tags)
        rows = pack_words(tokenize_words(self.tokenizer, words), self.max_length - 2)
        if not len(rows.word):
            raise ValueError(f"words must hold a word that has tokens, got {len(words)} sentences without one")
        features = self._inputs(rows)
        y = np.full(features["token_ids"].shape, IGNORED, "int32")
        y[rows.row, rows.column + 1] = numbers[rows.word]
        return features, y

    def predict(self, texts: Sequence[str], *, batch_size: int = 32) -> list[list[Entity]]:
        """The entities of each text, first to last.

        Words are those of BERT's basic tokenizer: they are separated by white space, and each punctuation mark is a
        word, so that "in Paris." ends with the word "Paris" and a full stop, as in the data sets. Words with marks
        inside, as "U.S.", are one word in the data sets and several here; `predict_tags` takes words as they are.

        Tags are read as conlleval reads them, see `entities_of`. A long text is read in rows that overlap by a quarter,
        and each word is tagged in the row with the most context on both sides: no part of a text is lost.

        Raises:
            ValueError: the labels are not entity tags.
        """
        texts = as_texts("texts", texts)
        rule = f"be entity tags, as {OUTSIDE} and B-person, for predict; predict_tags takes any"
        check(type(self).__name__, "labels", self._has_entities, rule, list(self.labels))
        answers = []
        for part in (texts[rows] for rows in slices(len(texts), ROWS_AT_ONCE)):
            words, starts, ends = self._tokenize_texts(part)
            tags, probabilities = self._tag(words, batch_size)
            for number, text in enumerate(part):
                part_of_text = slice(words.splits[number], words.splits[number + 1])
                part_places = starts[part_of_text], ends[part_of_text]
                answers.append(decode(text, tags[part_of_text], probabilities[part_of_text], *part_places))
        return answers

    def predict_tags(self, words: Sequence[Sequence[str]], *, batch_size: int = 32) -> list[list[str]]:
        """The tag of each word of each sentence; `O` for a word without tokens, as one of control characters only.

        Long sentences are read as in `predict`.
        """
        words = as_sentences("words", words)
        answers = []
        for part in (words[rows] for rows in slices(len(words), ROWS_AT_ONCE)):
            flat = tokenize_words(self.tokenizer, part)
            tags, _ = self._tag(flat, batch_size)
            answers += [tags[begin:end] for begin, end in itertools.pairwise(flat.splits)]
        return answers

    def target(self, choice: str | int | None, outputs: Any, row: RowWords) -> Target:
        """The logit of a tag at the first token of a word.

        Args:
            choice: `WORD` for the word's most probable tag, or `WORD=TAG`; a word is its number in the row, or its text
                where it occurs first. None for the word with the most probable tag that is not `O`.
            outputs: the logits of the row (length, labels).
            row: the words of the row.
        """
        places = first_tokens(row)
        if not places:
            raise UnexplainedRowError(f"{type(self).__name__}.target must name a word of the text, which has none")
        logits = np.stack([np.asarray(outputs[place], "float32") for place in places])
        if choice is None:
            shares = probabilities(logits)
            outside = [number for number, label in enumerate(self.labels) if label == OUTSIDE]
            shares[:, outside] = -1
            word, tag = (int(number) for number in np.unravel_index(shares.argmax(), shares.shape))
        else:
            name, _, label = str(choice).rpartition("=") if "=" in str(choice)[1:] else (str(choice), "", "")
            word = word_number(name, row)
            tag = label_number("target", label, self.labels) if label else int(logits[word].argmax())
        place = places[word]
        label = self.labels[tag]
        return Target(
            f"{row.word_texts[word]}={label}",
            f"{word}={label}",
            lambda outputs: outputs[:, place, tag],
            word,
            lambda number: f"{number}={label}",
        )

    @property
    def predicts_records(self) -> bool:
        """Whether the labels are entity tags, which `predict` needs."""
        return self._has_entities

    def answer_columns(self, *, paired: bool = False) -> dict[str, ColumnType]:
        """`entities`, a list of `Entity`; with `answers_words` `words` and `tags`, two lists."""
        return {"words": list[str], "tags": list[str]} if self.answers_words else {"entities": list[Entity]}

    def answer_values(
        self, texts: Sequence[str | list[str]], seconds: Sequence[str] | None = None
    ) -> Iterator[tuple[Any, ...]]:
        """The values of `answer_columns` for each text; with `answers_words` a text may be a list of words, too.

        Words of a text without a list end at white space.
        """
        if seconds is not None:
            raise ValueError(f"second texts must be left out: {self.name} reads single texts")
        if not self.answers_words:
            return zip(self.predict(cast("Sequence[str]", texts)))
        sentences = [text.split() if isinstance(text, str) else text for text in as_list("texts", texts)]
        return zip(sentences, self.predict_tags(sentences), strict=True)

    def format_answer(self, values: tuple[Any, ...], texts: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        """A line for each entity: label, probability, place and words; with `answers_words` one of all tagged words.

        An entity below the calibration's threshold is `not sure (LABEL)`.
        """
        if self.answers_words:
            yield (" ".join(f"{word}/{tag}" for word, tag in zip(*values, strict=True)),)
            return
        for entity in values[0]:
            label = self._format_label(entity.label, entity.probability)
            yield label, f"{entity.probability:.4f}", f"{entity.start}:{entity.end}", entity.text
        if not values[0]:
            yield "(no entity)", "", "", *texts

    def word_logits(self, words: Sequence[Sequence[str]], *, batch_size: int = 32) -> tuple[Array, Array]:
        """The logits of words, of which `predict_tags` takes the largest.

        Returns:
            The indices of the words with tokens among the words of all sentences (words,), and their logits (words,
            labels).

        Raises:
            ValueError: no word has a token.
        """
        words = as_sentences("words", words)
        places, logits, before = [], [], 0
        for part in (words[rows] for rows in slices(len(words), ROWS_AT_ONCE)):
            flat = tokenize_words(self.tokenizer, part)
            part_places, part_logits = self._word_logits(flat, batch_size)
            places.append(part_places + before)
            logits.append(part_logits)
            before += len(flat.sizes)
        return np.concatenate(places), np.concatenate(logits)

    def _tokenize_texts(self, texts: Sequence[str]) -> tuple[Words, Array, Array]:
        """The words of texts, and the characters where each of them starts and ends (words,)."""
        tokens, starts, ends = self.tokenizer.tokenize_with_offsets(list(texts))
        ids = np.asarray(tokens.flat_values)
        begins = ~self._continues[ids]
        # Bytes tell a word by the space in front of it, which the first of a text has not.
        lengths = np.asarray(tokens.row_lengths())
        begins[(np.cumsum(lengths) - lengths)[lengths > 0]] = True
        first = np.flatnonzero(begins)
        sizes = np.diff(first, append=len(ids))
        splits = np.searchsorted(first, np.append(0, np.cumsum(lengths)))
        last = first + sizes - 1
        return Words(ids, sizes, splits), np.asarray(starts.flat_values)[first], np.asarray(ends.flat_values)[last]

    def _inputs(self, rows: WordRows) -> Features:
        tokenizer = self.tokenizer
        return rows.model_inputs(cls_id=tokenizer.cls_id, sep_id=tokenizer.sep_id, pad_id=tokenizer.pad_id)

    def _tag(self, words: Words, batch_size: int) -> tuple[list[str], Array]:
        """Each word's most probable tag, `O` where it has no tokens, and the tag's probability (words,)."""
        tags, likely = np.full(len(words.sizes), OUTSIDE, object), np.ones(len(words.sizes))
        places, logits = self._word_logits(words, batch_size)
        if len(places):
            shares = probabilities(logits, self.calibration.temperature)
            tags[places] = np.array(self.labels, object)[shares.argmax(axis=1)]
            likely[places] = shares.max(axis=1)
        return tags.tolist(), likely

    def _word_logits(self, words: Words, batch_size: int) -> tuple[Array, Array]:
        """See `word_logits`; each word is read where it sees most on both sides."""
        room = self.max_length - 2
        rows = pack_words(words, room, overlap=room // 4)
        if not len(rows.word):
            return np.zeros(0, int), np.zeros((0, len(self.labels)))
        return rows.first_tokens(self.forward(self._inputs(rows), batch_size))

    def _numbers(self, tags: Sequence[Sequence[str]]) -> Array:
        """The numbers of all tags in order (words,), int32."""
        numbers = {label: number for number, label in enumerate(self.labels)}
        for row, sentence in enumerate(tags):
            for place, tag in enumerate(sentence):
                if tag not in numbers:
                    label_number(f"tags[{row}][{place}]", tag, self.labels)  # raises
        return np.array([numbers[tag] for sentence in tags for tag in sentence], "int32")
