"""Makes the reference of tests/keras_bert/metrics/test_retrieval.py with trec_eval itself, through pytrec_eval.

    python -m tests.golden.retrieval

Made with Python 3.11 and pytrec-eval-terrier 0.5.11. 40 queries with one to four relevant passages of 60, with scores
by chance that are all different, as trec_eval orders equal scores by the names of the passages.
"""

import json
from pathlib import Path

import numpy as np
import pytrec_eval

HERE = Path(__file__).parent / "retrieval.json"
QUERIES, PASSAGES = 40, 60
MEASURES = {"ndcg_at_10": "ndcg_cut_10", "recall_at_1": "recall_1", "recall_at_10": "recall_10", "map": "map"}


def main() -> None:
    """Writes scores, relevant passages and the measures of each query."""
    chance = np.random.default_rng(0)
    scores = chance.permuted(np.tile(np.arange(PASSAGES), (QUERIES, 1)), axis=1) / PASSAGES
    relevant = [sorted(chance.choice(PASSAGES, 1 + query % 4, replace=False).tolist()) for query in range(QUERIES)]
    for query in range(0, QUERIES, 2):  # by chance alone, hardly any would be found
        scores[query, relevant[query]] += 0.705 + 0.001 * np.arange(len(relevant[query]))
    judged = {str(query): {str(place): 1 for place in places} for query, places in enumerate(relevant)}
    run = {
        str(query): {str(place): float(score) for place, score in enumerate(row)} for query, row in enumerate(scores)
    }
    measured = pytrec_eval.RelevanceEvaluator(judged, {"ndcg_cut.10", "recall.1,10", "map"}).evaluate(run)
    # trec_eval's reciprocal rank has no cutoff: it reads the first ten passages of each query alone.
    top = {query: dict(sorted(row.items(), key=lambda item: -item[1])[:10]) for query, row in run.items()}
    first = pytrec_eval.RelevanceEvaluator(judged, {"recip_rank"}).evaluate(top)
    expected = [
        {name: measured[str(query)][measure] for name, measure in MEASURES.items()}
        | {"mrr_at_10": first[str(query)]["recip_rank"]}
        for query in range(QUERIES)
    ]
    HERE.write_text(json.dumps({"scores": scores.tolist(), "relevant": relevant, "expected": expected}) + "\n")


if __name__ == "__main__":
    main()
