"""A query in the page that searches 10,000 sentences: the int8 model and all cosines, in a headless Chromium.

    CHROMIUM=chromium python -m benchmarks.search_page --layers 3 --hidden 384 --heads 12

It needs node and the packages of `make test-web`. Weights, sentences and queries are random: they do not matter for
speed. Milliseconds are those that the page itself shows a person: from the text in the field to the results, medians
over the queries. In the same run a page without a corpus shows a vector, which is the model alone.
"""

import argparse
import random
import statistics
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.harness.passages import LENGTHS, VOCABULARY, make_passage
from benchmarks.harness.shapes import add_shape, config_of
from keras_bert.clients.page import PageScore, write_page, write_tokenizers
from keras_bert.clients.search_corpus import embed_corpus
from keras_bert.core.folders import GOLDEN_FILE, METRICS_FILE, PAGE_FILE, TFLITE_FILE
from keras_bert.export.bundle import attach_companions, load_exported
from keras_bert.export.tflite import export_tflite
from keras_bert.tasks.embedding import Embedding
from keras_bert.tokenizers.tokenizer import Tokenizer
from keras_bert.tokenizers.wordpiece_vocabulary import SPECIAL_TOKENS
from tests.clients.web.node import ask

_QUERIES = 30
_WORDS = {"sentence": 12, "short query": 8, "long query": 40}


def main() -> None:
    """Prints milliseconds and megabytes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_shape(parser)
    parser.add_argument("--texts", type=int, default=10_000)
    options = parser.parse_args()
    chance = random.Random(0)
    words = [f"word{number}" for number in range(VOCABULARY - len(SPECIAL_TOKENS))]
    sentences = [" ".join(chance.choices(words, k=_WORDS["sentence"])) for _ in range(options.texts)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        task = export_embedding(folder, Tokenizer([*SPECIAL_TOKENS, *words], lowercase=True), options)
        write_page(folder, "model", PageScore("ndcg_at_10", 0.5, 1))
        model_megabytes = (folder / PAGE_FILE).stat().st_size / 1e6
        alone = {
            kind: ask_queries(folder / PAGE_FILE, words, length, chance) for kind, length in list(_WORDS.items())[1:]
        }
        write_page(folder, "search", PageScore("ndcg_at_10", 0.5, 1), embed_corpus(task, sentences))
        megabytes = (folder / PAGE_FILE).stat().st_size / 1e6
        searches = {kind: ask_queries(folder / PAGE_FILE, words, _WORDS[kind], chance) for kind in alone}
    shape = f"L{options.layers} H{options.hidden} A{options.heads}, int8"
    title = f"{shape}; {options.texts} sentences: a page of {megabytes:.1f} MB, {model_megabytes:.1f} without them"
    table = Table("ms for one query", "vector alone", "vector and search", title=title)
    for kind, milliseconds in searches.items():
        table.add_row(f"{kind}, {_WORDS[kind]} tokens", f"{alone[kind]:.0f}", f"{milliseconds:.0f}")
    Console().print(table)


def export_embedding(folder: Path, tokenizer: Tokenizer, options: argparse.Namespace) -> Embedding:
    """Writes an int8 file beside the files that a page needs, and loads it."""
    from keras_bert.compress.quantize import QuantizationAware
    from keras_bert.models.encoder import build_encoder

    task = Embedding.build(build_encoder(config_of(options)), tokenizer, max_length=max(LENGTHS))
    network = task.network()
    ranges = QuantizationAware(network, [make_passage(length) for length in LENGTHS]).finish()
    export_tflite(network, folder / TFLITE_FILE, LENGTHS, ranges, output=task.output_name)
    task.save_settings(folder)
    attach_companions(task, folder / TFLITE_FILE)
    (folder / METRICS_FILE).write_text("{}")
    (folder / GOLDEN_FILE).write_text("[]")
    write_tokenizers(folder)
    loaded = load_exported(folder)
    assert isinstance(loaded, Embedding)
    return loaded


def ask_queries(page: Path, words: list[str], length: int, chance: random.Random) -> float:
    """The median milliseconds of queries that are typed into a page; the first ones, which warm it up, do not count."""
    queries = [" ".join(chance.choices(words, k=length)) for _ in range(2 * _QUERIES)]
    answers = ask("search_page.mjs", page, given={"queries": queries})["found"]
    return statistics.median(float(answer["milliseconds"]) for answer in answers[_QUERIES:])


if __name__ == "__main__":
    main()
