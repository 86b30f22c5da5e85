"""Models of one vector space on several collections, and on pairs of sentences.

    python -m benchmarks.make_rows pairs
    python -m benchmarks.vector_space teacher=CHECKPOINT student=FOLDER int8=model.tflite ...

The first model is the one whose documents the others search; shares are of its score among its whole documents. A model
is a checkpoint of sentence-transformers, a saved or pushed folder, or a file. `questions` are the test rows of
`make_rows pairs`, `titles` those of 2,500 abstracts of PubMed that search for their abstract; both have nDCG@10, also
by the sentences of documents (`plugins.vectors.pieces`). `pairs` is Spearman's correlation of similarities with
people's scores on the dev file of STS-B. BM25 is in the same table.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import keras_bert
from benchmarks.new_heads import read_part
from benchmarks.table import print_table
from components.examples.retrieval import SplitCorpus
from components.scoring.retrieval import Ranking, rank_rows, search_words
from components.sources.retrieval import QueryRow
from components.sources.text import TextSource
from keras_bert.metrics.regression import correlations
from keras_bert.metrics.retrieval import retrieval_scores
from plugins.vectors.pieces import Pieces


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+", metavar="NAME=PATH")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--max-length", type=int, default=128, help="tokens of a text, for checkpoints")
    parser.add_argument("--rows", type=int, help="the most rows of each collection")
    options = parser.parse_args()
    for model in options.models:
        if "=" not in model:
            parser.error(f"a model must be NAME=PATH, such as int8=model.tflite, got {model!r}")
    collections = {
        name: rows[: options.rows] for name, rows in (("questions", read_questions()), ("titles", read_titles(options)))
    }
    firsts, scores, seconds = read_part(options.data, "stsb", "dev")
    table = [{"queries": "BM25", **{name: f"{ndcg(search_words(rows)):.2f}" for name, rows in collections.items()}}]
    of_teacher: dict[str, tuple[float, Any]] = {}
    for number, (label, path) in enumerate(model.split("=", 1) for model in options.models):
        task = read_model(path, options.max_length)
        alone, together = ({"queries": label, "documents": documents} for documents in ("its own", "the first model's"))
        for name, rows in collections.items():
            corpus = SplitCorpus.of(rows)
            pieces = Pieces.of(corpus.passages)
            queries = task.predict([row.query for row in rows], prompt="query")
            vectors = task.predict(pieces.texts, prompt="passage")
            mine = search(task, corpus, pieces, queries, vectors)
            first, documents = of_teacher.setdefault(name, (mine[0], vectors))
            for cells, values in ((alone, mine), (together, search(task, corpus, pieces, queries, documents))):
                for column, score in zip((name, f"{name}, by sentences"), values, strict=True):
                    cells[column] = f"{score:.2f} ({score / first:.1%})"
        similarities = task.compare_pairs(task.predict(firsts), task.predict(seconds))
        alone["pairs"] = f"{100 * correlations(similarities, scores)['spearman']:.2f}"
        table += [alone, together] if number else [alone]
    print_table(table)


def read_questions() -> list[QueryRow]:
    """The test rows of `make_rows pairs`."""
    lines = (Path(__file__).parent / "rows/pairs/test.jsonl").read_text(encoding="utf-8").splitlines()
    return [QueryRow(row["query"], (row["passage"],)) for row in map(json.loads, lines)]


def read_titles(options: argparse.Namespace) -> list[QueryRow]:
    """The first line of each abstract, its title, with the others."""
    file = str(options.data / "corpus/biomed_abstracts.txt")
    documents = [document.text.splitlines() for document in TextSource(file).documents(file)]
    return [QueryRow(title, (" ".join(text),)) for title, *text in documents if text]


def read_model(path: str, max_length: int) -> Any:
    """A model of vectors, as an embedding."""
    if (Path(path) / "modules.json").is_file():
        return keras_bert.from_hugging_face(path, task="embedding", max_length=max_length)
    return keras_bert.load(path)


def search(task: Any, corpus: SplitCorpus, pieces: Pieces, queries: Any, vectors: Any) -> tuple[float, float]:
    """nDCG@10 of a search by the similarity of the task, among whole documents and by their sentences."""
    return (
        ndcg(rank_rows(corpus, lambda part: task.compare(queries[part], vectors[pieces.starts]))),
        ndcg(rank_rows(corpus, lambda part: pieces.pool(task.compare(queries[part], vectors)))),
    )


def ndcg(rankings: Sequence[Ranking]) -> float:
    """The mean over the queries, of 100."""
    return 100 * retrieval_scores([ranking.ranks for ranking in rankings])["ndcg_at_10"]


if __name__ == "__main__":
    main()
