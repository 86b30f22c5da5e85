"""A source of text and a Vocabulary -> TextExamples: tokenized lines without labels."""

import itertools
from collections.abc import Iterator

from components.artifacts.standard import TextExamples, Vocabulary
from components.dsl.component import Input, Output, component
from components.dsl.errors import InputError
from components.dsl.step_folders import report_progress
from components.examples.base import ROWS_AT_ONCE, Encoding
from components.examples.texts import encode_rows
from components.sources.text import TextSource, line_digest, read_lines

# One text of this many is held out for validation.
_HELD_OUT = 20


@component(libraries=("tensorflow-text", "tokenizers"))
def ingest_texts(
    vocabulary: Input[Vocabulary], texts: Output[TextExamples], source: TextSource, max_length: int = 128
) -> None:
    """Tokenizes lines of text into `train.tfrecord` and `validation.tfrecord`; a twentieth, by their hash, is held out.

    Lines that are longer than a row lose their end; `features.json` holds their share.

    Raises:
        InputError: the source has fewer than two different lines, or cannot be read.
    """
    report_progress(0, 3, "reading")
    digests = sorted(map(line_digest, read_lines(source)))
    if len(digests) < 2:
        rule = "hold at least two different lines, one to train on and one to validate on"
        raise InputError(f"the texts {source.path} must {rule}, got {len(digests)}")
    last = digests[max(1, len(digests) // _HELD_OUT) - 1]
    del digests
    from keras_bert.data.records import write_features, write_records
    from keras_bert.data.schemas import SCHEMAS, TEXT
    from keras_bert.tokenizers.loading import load_tokenizer

    tokenizer = load_tokenizer(vocabulary.path)
    counts, cut = {}, {}
    for number, split in enumerate(("train", "validation"), start=1):
        report_progress(number, 3, f"tokenizing {split}")
        lines = (line for line in read_lines(source) if (line_digest(line) <= last) == (split == "validation"))
        encoding = Encoding(tokenizer, (), max_length, 0, 0)
        counts[split] = write_records(texts.file(f"{split}.tfrecord"), _records(lines, encoding))
        cut[split] = round(encoding.cut[True] / counts[split], 4)
    features = {name: feature.meaning for name, feature in SCHEMAS[TEXT].items()}
    content = {"task": TEXT, "features": features, "max_length": max_length, "counts": counts, "truncated_share": cut}
    write_features(texts.path, content)
    texts.counts = dict(counts)


def _records(lines: Iterator[str], encoding: Encoding) -> Iterator[bytes]:
    from keras_bert.data.records import serialize

    while part := list(itertools.islice(lines, ROWS_AT_ONCE)):
        yield from map(serialize, encode_rows(part, None, encoding))
