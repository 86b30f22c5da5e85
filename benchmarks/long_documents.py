"""Classes of documents whose deciding part stands beyond 512 tokens: cut there, or read whole by windows.

    python -m benchmarks.long_documents --kind NAME=FILE --kind NAME=FILE --filler FILE [--seeds 3]

The task is made to need a long input, and is no sample of what users have. Files are text, a blank line ending a
document. A row is `--words` words of the filler's documents, whatever the label is, and behind them `--deciding` words
of the label's kind: as a word is a token at least, whoever reads 512 tokens has seen nothing that tells, and can but
guess. Documents are parted into those to train on and those to test on before any row is made, and the vocabulary is
learnt from the former.

Three encoders of one small shape begin with random weights and train on the same rows for as many epochs: BERT's that
reads 512 tokens, and Longformer's, that reads 512, or all. Their mean states are what is classified.
"""

import argparse
import random
import statistics
import time
from pathlib import Path
from typing import Any

CONTENDERS = {"full attention, 512 tokens": ("bert", 512), "windows, 512": ("longformer", 512), "windows, all": ("", 0)}
_TEST_SHARE = 4  # one document of so many

FILLER = "the filler"

Documents = dict[str, list[list[str]]]
Rows = tuple[list[str], list[str]]


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kind", action="append", required=True, metavar="NAME=FILE")
    parser.add_argument("--filler", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=240, help="to train on; as many to test on")
    parser.add_argument("--words", type=int, default=600, help="of the filler")
    parser.add_argument("--deciding", type=int, default=200, help="words")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch", type=int, default=8, help="rows")
    parser.add_argument("--length", type=int, default=2048, help="tokens that are read at most")
    parser.add_argument("--vocabulary", type=int, default=3000)
    options = parser.parse_args()
    if options.words < 512:
        parser.error(f"--words must be at least 512, so that nothing of 512 tokens tells, got {options.words}")
    kinds = {name: Path(file) for name, _, file in (kind.partition("=") for kind in options.kind)}
    train, test = read_documents({**kinds, FILLER: options.filler})
    for purpose, documents in (("train", train), ("test", test)):
        print(f"documents to {purpose} on: { ({kind: len(texts) for kind, texts in documents.items()}) }")
    tokenizer = learn(train, options.vocabulary)
    print("\n| encoder | tokens read | test accuracy, % | mean | seconds a training |\n|---|---:|---|---:|---:|")
    for name in CONTENDERS:
        print(line_of(name, train, test, tokenizer, options), flush=True)


def read_documents(files: dict[str, Path]) -> tuple[Documents, Documents]:
    """The words of each document by kind: those to train on, and those to test on."""
    parts: tuple[Documents, Documents] = ({}, {})
    for kind, file in files.items():
        texts = [text.split() for text in file.read_text(encoding="utf-8").split("\n\n")]
        random.Random(0).shuffle(texts)
        cut = len(texts) // _TEST_SHARE
        parts[1][kind], parts[0][kind] = texts[:cut], texts[cut:]
    return parts


def make_rows(documents: Documents, count: int, seed: int, options: argparse.Namespace) -> Rows:
    """Texts and labels, as many of each label."""
    chance, kinds = random.Random(seed), sorted(documents.keys() - {FILLER})

    def some(kind: str, words: int) -> list[str]:
        text: list[str] = []
        while len(text) < words:
            document = chance.choice(documents[kind])
            start = chance.randrange(max(1, len(document) - words))
            text += document[start : start + words]
        return text[:words]

    labels = [kinds[number % len(kinds)] for number in range(count)]
    texts = [some(FILLER, options.words) + some(label, options.deciding) for label in labels]
    return [" ".join(text) for text in texts], labels


def learn(documents: Documents, size: int) -> Any:
    """A tokenizer of byte-level pieces of documents."""
    from keras_bert.tokenizers.learning import learn_subwords

    texts = (" ".join(words) for of_kind in documents.values() for words in of_kind)
    return learn_subwords(texts, "bpe", size, lowercase=True)


def line_of(name: str, train: Documents, test: Documents, tokenizer: Any, options: argparse.Namespace) -> str:
    """A row of the table."""
    accuracies, spent, length = [], 0.0, CONTENDERS[name][1] or options.length
    for seed in range(options.seeds):
        task = build(name, tokenizer, sorted(train.keys() - {FILLER}), length, seed)
        rows = make_rows(train, options.rows, seed, options)
        start = time.perf_counter()
        fit(task, rows, options)
        spent += time.perf_counter() - start
        texts, labels = make_rows(test, options.rows, 1000, options)
        answers = [answer.label for answer in task.predict(texts)]
        accuracies.append(100 * statistics.fmean(map(str.__eq__, answers, labels)))
    cells = " ".join(f"{accuracy:.1f}" for accuracy in accuracies)
    return f"| {name} | {length} | {cells} | {statistics.fmean(accuracies):.1f} | {spent / options.seeds:.0f} |"


def build(name: str, tokenizer: Any, labels: list[str], length: int, seed: int) -> Any:
    """A classifier with random weights."""
    import keras

    from keras_bert.core.config import EncoderConfig
    from keras_bert.families.longformer.settings import Longformer
    from keras_bert.models.encoder import build_encoder
    from keras_bert.tasks.classification import Classification

    keras.utils.set_random_seed(seed)
    config = EncoderConfig(
        vocabulary_size=tokenizer.vocabulary_size,
        max_length=length,
        num_layers=2,
        hidden_size=128,
        num_heads=2,
        intermediate_size=512,
        num_segments=1,
        initializer_range=0.06,
        variant=None if CONTENDERS[name][0] == "bert" else Longformer(window=128),
    )
    encoder = build_encoder(config, pooler=False)
    return Classification.build(encoder, tokenizer, labels=labels, max_length=length, pooling="mean")


def fit(task: Any, rows: Rows, options: argparse.Namespace) -> None:
    """Trains, with the optimizer of this project's trainer."""
    from keras_bert.models.encoder import input_names
    from keras_bert.models.optimizer import adamw

    features, numbers = task.examples(*rows)
    features = {name: features[name] for name in input_names(task.model)}
    steps = options.epochs * -(-len(numbers) // options.batch)
    task.compile(adamw(1e-3, steps))
    task.model.fit(features, numbers, batch_size=options.batch, epochs=options.epochs, verbose=0)


if __name__ == "__main__":
    main()
