"""Four tasks and an encoder so small that fine-tuning takes seconds."""

import json
import random
from pathlib import Path
from typing import Any

import keras

from components.artifacts.model import Model
from components.artifacts.task_examples import TaskExamples
from components.artifacts.vocabulary import Vocabulary
from components.ingest_examples import ingest_examples
from components.sources.questions import QuestionSource
from components.sources.table import TableSource
from components.sources.tagged_words import SentenceSource
from keras_bert.config import EncoderConfig
from keras_bert.models.encoder import build_encoder
from keras_bert.tasks.embedding import Embedding
from keras_bert.tokenizers.tokenizer import SPECIAL_TOKENS, Tokenizer

ANIMALS, PLANTS, OTHERS = ("cow", "hen", "owl", "fox"), ("oak", "fir", "elm", "fern"), ("the", "near", "old", "one")
WORDS = (*ANIMALS, *PLANTS, *OTHERS)
LENGTH = 16
TASKS = ("classification", "regression", "token_classification", "question_answering")


def write_checkpoint(folder: Path, *, pooler: bool = True) -> None:
    """An encoder of random weights, as a Model artifact and a Vocabulary beside it."""
    keras.utils.set_random_seed(0)
    tokenizer = Tokenizer([*SPECIAL_TOKENS, *WORDS, "?"], lowercase=True)
    config = EncoderConfig(
        vocabulary_size=tokenizer.vocabulary_size,
        hidden_size=16,
        num_layers=1,
        num_heads=2,
        intermediate_size=32,
        max_length=LENGTH,
        initializer_range=0.2,
    )
    model, vocabulary = Model(folder / "model"), Vocabulary(folder / "vocabulary")
    Embedding.build(build_encoder(config, pooler=pooler), tokenizer, max_length=LENGTH).save(model.path)
    vocabulary.path.mkdir()
    tokenizer.save(vocabulary.path)
    model.seal({})
    vocabulary.seal({})


def write_rows(folder: Path, task: str, count: int = 40, copies: int = 1) -> Any:
    """A file of rows that a tiny model learns in part, and the source that reads it; only training is given.

    Copies have the text of the original, and for a regression another number.
    """
    chance = random.Random(0)
    sentences = [[chance.choice(WORDS) for _ in range(chance.randint(8, 12))] for _ in range(count)] * copies
    if task in ("classification", "regression"):
        labels = [_label(sentence, task, number) for number, sentence in enumerate(sentences)]
        table = "".join(f"{' '.join(words)}\t{label}\n" for words, label in zip(sentences, labels, strict=True))
        (folder / f"{task}.tsv").write_text("text\tlabel\n" + table)
        return TableSource(str(folder / f"{task}.tsv"), task=task)
    if task == "token_classification":
        lines = ["".join(f"{word} {'B-animal' if word in ANIMALS else 'O'}\n" for word in words) for words in sentences]
        (folder / "sentences.conll").write_text("\n".join(lines))
        return SentenceSource(str(folder / "sentences.conll"))
    rows = [json.dumps(_question(words, number)) for number, words in enumerate(sentences)]
    (folder / "questions.jsonl").write_text("\n".join(rows))
    return QuestionSource(str(folder / "questions.jsonl"))


def _label(words: list[str], task: str, number: int) -> str:
    animals = sum(word in ANIMALS for word in words)
    if task == "regression":
        return str(animals / len(words) + number / 1000)
    return "animal" if animals > sum(word in PLANTS for word in words) else "plant"


def _question(words: list[str], number: int) -> dict[str, Any]:
    context = f"{' '.join(words)} cow"
    return {
        "id": str(number),
        "question": "one cow ?",
        "context": context,
        "answers": {"text": ["cow"], "answer_start": [context.index("cow")]},
    }


def ingest(folder: Path, vocabulary: Vocabulary, source: Any) -> TaskExamples:
    """The rows as examples."""
    examples = TaskExamples(folder / f"{source.task}-examples")
    ingest_examples(vocabulary=vocabulary, examples=examples, source=source, max_length=LENGTH)
    return examples
