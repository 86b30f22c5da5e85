"""Text to learn from."""

from components.dsl.artifact import Artifact


class Corpus(Artifact):
    """Documents as gzip shards of JSON lines, `corpus-00000-of-00004.jsonl.gz`: {"id": ..., "text": ...}.

    Parts of a long document say of which (`whole`), and `cut_documents.json` counts them. What was left out stands in
    `dropped-*.jsonl.gz`, with the reason; `statistics.json` counts both.
    """
