"""Asks a file in MediaPipe Tasks; run by the environment of the clients, so that nothing of this project is there.

    python ask_mediapipe.py classifier|embedder FILE < TEXTS.json

Texts are a JSON list; the answers are one, too: {label: score} or a vector for each text.
"""

import json
import sys

from mediapipe.tasks.python import text
from mediapipe.tasks.python.core.base_options import BaseOptions


def main():
    """Prints the answers."""
    kind, file = sys.argv[1:]
    texts, options = json.load(sys.stdin), BaseOptions(model_asset_path=file)
    if kind == "classifier":
        with text.TextClassifier.create_from_options(text.TextClassifierOptions(base_options=options)) as classifier:
            categories = [classifier.classify(one_text).classifications[0].categories for one_text in texts]
        answers = [{category.category_name: category.score for category in one_text} for one_text in categories]
    else:
        with text.TextEmbedder.create_from_options(text.TextEmbedderOptions(base_options=options)) as embedder:
            answers = [embedder.embed(one_text).embeddings[0].embedding.tolist() for one_text in texts]
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main()
