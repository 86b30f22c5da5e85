"""Text to learn from."""

from components.dsl.artifact import Artifact


class Corpus(Artifact):
    """Documents as gzip shards of JSON lines, `corpus-00000-of-00004.jsonl.gz`: {"id": ..., "text": ...}.

    What was left out stands in `dropped-*.jsonl.gz`, with the reason; `statistics.json` counts both.
    """
