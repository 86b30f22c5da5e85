"""Rows of every task that learns from them, and an encoder so small that fine-tuning takes seconds."""

import contextlib
import functools
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf

from components.artifacts.standard import EdgeModel, Model, TaskExamples, Vocabulary
from components.distill import distill
from components.examples.registry import read_rows
from components.export_model import export_model
from components.fine_tune import fine_tune
from components.quantize import quantize
from components.scoring.registry import TASK_SCORING
from components.sources.label_sets import LabelSetSource
from components.sources.questions import QuestionSource
from components.sources.retrieval import RetrievalSource
from components.sources.table import TableSource
from components.sources.tagged_words import SentenceSource
from components.training.model_folder import read_model
from components.training.tuning import build_task
from keras_bert.core.config import EncoderConfig
from keras_bert.models.encoder import build_encoder
from keras_bert.options.compression import Student
from keras_bert.options.export import Export
from keras_bert.options.fine_tuning import Selection
from keras_bert.options.quantization import Quantization
from keras_bert.options.tables import DistillationSettings, FineTuningSettings, QuantizationSettings
from keras_bert.options.training import Training
from keras_bert.tasks.embedding import Embedding
from keras_bert.tokenizers.tokenizer import Tokenizer
from keras_bert.tokenizers.wordpiece_vocabulary import SPECIAL_TOKENS
from tests.components.labelled_rows import ingest_source

ANIMALS, PLANTS, OTHERS = ("cow", "hen", "owl", "fox"), ("oak", "fir", "elm", "fern"), ("the", "near", "old", "one")
WORDS = (*ANIMALS, *PLANTS, *OTHERS)
LENGTH = 16
# All rows are of one bucket of lengths: each further shape of a batch is compiled for by itself.
FEWEST, MOST = 7, 9
TASKS = ("classification", "multi_label", "regression", "token_classification", "question_answering", "embedding")

# To compile takes longer than all steps.
TRAINING = Training(steps=120, batch_size=8, learning_rate=1e-2, seed=3, xla="off")
SELECTION = Selection(validations=2)
QUANTIZATION = Quantization(calibration_batches=2)


def table(kind: Any, *records: Any, **changes: Any) -> Any:
    """The table of a job with the fields of records."""
    return kind(**{**{name: value for record in records for name, value in vars(record).items()}, **changes})


@contextlib.contextmanager
def eagerly() -> Iterator[None]:
    """Inside, functions are not compiled: of so small a model some steps take less than to trace one."""
    tf.config.run_functions_eagerly(True)
    try:
        yield
    finally:
        tf.config.run_functions_eagerly(False)


def write_checkpoint(
    folder: Path, *, pooler: bool = True, num_layers: int = 1, positions: int = LENGTH, hidden_size: int = 16
) -> None:
    """An encoder of random weights, as a Model artifact and a Vocabulary beside it."""
    keras.utils.set_random_seed(0)
    tokenizer = Tokenizer([*SPECIAL_TOKENS, *WORDS, "?"], lowercase=True)
    config = EncoderConfig(
        vocabulary_size=tokenizer.vocabulary_size,
        hidden_size=hidden_size,
        num_layers=num_layers,
        num_heads=2,
        intermediate_size=2 * hidden_size,
        max_length=positions,
        initializer_range=0.2,
    )
    model, vocabulary = Model(folder / "model"), Vocabulary(folder / "vocabulary")
    Embedding.build(build_encoder(config, pooler=pooler), tokenizer, max_length=LENGTH).save(model.path)
    vocabulary.path.mkdir()
    tokenizer.save(vocabulary.path)
    model.seal({})
    vocabulary.seal({})


def write_rows(folder: Path, task: str, count: int = 40, copies: int = 1, unanswered: int = 0) -> Any:
    """A file of rows that a tiny model learns in part, and the source that reads it; only training is given.

    Args:
        folder: for the file.
        task: a key of `TASK_ROWS`.
        count: how many rows have texts of their own.
        copies: how often each of them stands there; for a regression, each time with another number.
        unanswered: of questions, every so manieth has no answer; 0 for none.
    """
    chance = random.Random(0)
    sentences = [[chance.choice(WORDS) for _ in range(chance.randint(FEWEST, MOST))] for _ in range(count)] * copies
    if task == "embedding":
        rows = [_pair(words, number % count) for number, words in enumerate(sentences)]
        (folder / "pairs.tsv").write_text("text\tother\tlabel\n" + "".join("\t".join(row) + "\n" for row in rows))
        return TableSource(str(folder / "pairs.tsv"), second_text="other", task=task, scale=2.0)
    if task == "retrieval":
        queries = [_query(words, number) for number, words in enumerate(sentences)]
        (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)))
        return RetrievalSource(str(folder / "queries.jsonl"), negatives=("negatives",))
    if task == "reranking":
        pairs = [_judged(words, number) for number, words in enumerate(sentences)]
        table = "".join(f"{query}\t{passage}\t{relevance}\n" for query, passage, relevance in pairs)
        (folder / "lists.tsv").write_text("query\tpassage\trelevance\n" + table)
        return TableSource(str(folder / "lists.tsv"), text="query", label="relevance", second_text="passage", task=task)
    if task in ("classification", "regression"):
        labels = [_label(sentence, task, number) for number, sentence in enumerate(sentences)]
        table = "".join(f"{' '.join(words)}\t{label}\n" for words, label in zip(sentences, labels, strict=True))
        (folder / f"{task}.tsv").write_text("text\tlabel\n" + table)
        return TableSource(str(folder / f"{task}.tsv"), task=task)
    if task == "multi_label":
        lines = [json.dumps({"text": " ".join(words), "label": _label_set(words)}) for words in sentences]
        (folder / "sets.jsonl").write_text("\n".join(lines))
        return LabelSetSource(str(folder / "sets.jsonl"))
    if task == "token_classification":
        lines = ["".join(f"{word} {'B-animal' if word in ANIMALS else 'O'}\n" for word in words) for words in sentences]
        (folder / "sentences.conll").write_text("\n".join(lines))
        return SentenceSource(str(folder / "sentences.conll"))
    nobody = [bool(unanswered) and number % unanswered == 0 for number in range(len(sentences))]
    questions = [_question(*parts) for parts in zip(sentences, range(len(sentences)), nobody, strict=True)]
    (folder / "questions.jsonl").write_text("\n".join(map(json.dumps, questions)))
    return QuestionSource(str(folder / "questions.jsonl"))


def _label(words: list[str], task: str, number: int) -> str:
    animals = sum(word in ANIMALS for word in words)
    if task == "regression":
        # Far from 0, as prices are.
        return str(4000 + 1000 * animals / len(words) + number)
    return "animal" if animals > sum(word in PLANTS for word in words) else "plant"


def _label_set(words: list[str]) -> list[str]:
    """The kinds of living things that are more than a third of the words; of some rows none, of others both."""
    kinds = {"animal": ANIMALS, "plant": PLANTS}
    return [kind for kind, names in kinds.items() if 3 * sum(word in names for word in words) > len(words)]


def _pair(words: list[str], number: int) -> tuple[str, str, str]:
    """A text, another one, and how many of two halves of it they share."""
    half, shared = len(words) // 2, number % 3
    strangers = [WORDS[-1 - WORDS.index(word)] for word in words]
    other = [strangers, words[:half] + strangers[half:], words][shared]
    return " ".join(words), " ".join(other), str(shared)


def _query(words: list[str], number: int) -> dict[str, Any]:
    """The passage of a query has the opposite of each word; its negative has the words themselves, in another order."""
    return {
        "query": " ".join([*words, *["?"] * (number % 2)]),
        "passage": " ".join(WORDS[-1 - WORDS.index(word)] for word in words),
        "negatives": [" ".join(words[::-1])],
    }


def _judged(words: list[str], number: int) -> tuple[str, str, int]:
    """A query with four passages, as relevant as they have animals in their middle."""
    query = f"one {ANIMALS[number // 4 % 4]} near {PLANTS[number // 16 % 4]} ?"
    return query, " ".join(words), sum(word in ANIMALS for word in words[2:5])


def _question(words: list[str], number: int, nobody: bool) -> dict[str, Any]:
    """Where the animal with this name stands; nobody has it where its name is missing."""
    words = [word for word in words if word != "cow"]
    context = " ".join(words) if nobody else f"{' '.join(words)} cow"
    answers = {"text": [], "answer_start": []} if nobody else {"text": ["cow"], "answer_start": [context.index("cow")]}
    return {"id": str(number), "question": "one cow ?", "context": context, "answers": answers}


def ingest(folder: Path, vocabulary: Vocabulary, source: Any) -> TaskExamples:
    """The rows as examples."""
    return ingest_source(TaskExamples(folder / f"{source.task}-examples"), vocabulary, source, max_length=LENGTH)


class Line:
    """What the steps make of one task, one after the other, each when it is asked for.

    Some questions have no answer, so that each step finds a threshold.

    Args:
        task: a key of `TASK_ROWS`.
        checkpoint: what `write_checkpoint` wrote.
        folder: an empty one.
    """

    def __init__(self, task: str, checkpoint: Path, folder: Path) -> None:
        self.task, self._folder, self._loaded = task, folder, dict[str, Any]()
        self.pretrained, self.vocabulary = Model(checkpoint / "model"), Vocabulary(checkpoint / "vocabulary")

    @functools.cached_property
    def examples(self) -> TaskExamples:
        """The rows, tokenized."""
        return ingest(self._folder, self.vocabulary, write_rows(self._folder, self.task, unanswered=4))

    @functools.cached_property
    def blank(self) -> Model:
        """The encoder with a new head, not trained."""
        model = Model(self._folder / "blank")
        build_task(read_model(self.pretrained), self.examples.features()).save(model.path)
        model.seal({})
        return model

    @functools.cached_property
    def teacher(self) -> Model:
        """Fine-tuned."""
        model = Model(self._folder / "teacher")
        given = {"pretrained": self.pretrained, "examples": self.examples}
        fine_tune.run(
            **given, model=model, fine_tuning=table(FineTuningSettings, TRAINING, SELECTION, start_head="random")
        )
        return model

    @functools.cached_property
    def lopsided(self) -> Model:
        """Fine-tuned with the next seed, and so that it sees animals wherever it looks."""
        model = Model(self._folder / "lopsided")
        changes = {"seed": TRAINING.seed + 1, "start_head": "random", "class_weights": {"animal": 1000.0}}
        settings = table(FineTuningSettings, TRAINING, SELECTION, **changes)
        fine_tune.run(pretrained=self.pretrained, examples=self.examples, model=model, fine_tuning=settings)
        return model

    @functools.cached_property
    def student(self) -> Model:
        """As large as the teacher, whose layer it starts from."""
        student = Model(self._folder / "student")
        given = {"teacher": self.teacher, "examples": self.examples}
        # Of these, tests look at what the student learns, for which the few steps that are fast uncompiled are too few.
        learns = self.task in ("classification", "multi_label", "question_answering")
        settings = table(DistillationSettings, TRAINING, steps=60 if learns else 4)
        with contextlib.nullcontext() if learns else eagerly():
            distill.run(**given, student=student, shape=Student(num_layers=1), distillation=settings)
        return student

    @functools.cached_property
    def quantized(self) -> Model:
        """The student, trained on with rounding."""
        quantized = Model(self._folder / "quantized")
        given = {"student": self.student, "examples": self.examples}
        # To calibrate takes as long as many steps.
        settings = table(QuantizationSettings, TRAINING, QUANTIZATION, steps=4, learning_rate=1e-3)
        with eagerly():
            quantize.run(**given, quantized=quantized, quantization=settings)
        return quantized

    @functools.cached_property
    def edge(self) -> EdgeModel:
        """Its files."""
        edge = EdgeModel(self._folder / "edge")
        # No row fits into fewer tokens than the longest input.
        export_model.run(model=self.quantized, examples=self.examples, edge=edge, export=Export(lengths=()))
        return edge

    def load(self, name: str) -> Any:
        """The task of a model that the line has, one for all tests: to trace what it answers takes a second."""
        if name not in self._loaded:
            self._loaded[name] = read_model(getattr(self, name))
        return self._loaded[name]

    def score(self, name: str, split: str) -> float:
        """The main metric of a model on the rows as they were read."""
        scoring, rows, task = TASK_SCORING[self.task], read_rows(self.examples, split), self.load(name)
        labels = getattr(task, "labels", ())
        return scoring.score(rows, scoring.answer(task, rows), labels).metrics[scoring.metrics(labels)[0]]
