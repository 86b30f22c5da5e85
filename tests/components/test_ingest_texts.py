"""Lines of text as rows: which are held out, and how long they may be."""

import pytest

from components.artifacts.standard import TextExamples, Vocabulary
from components.dsl.errors import InputError
from components.ingest_texts import ingest_texts
from components.sources.text import TextSource
from keras_bert.data.records import read_features
from keras_bert.data.task_batches import task_batches
from keras_bert.tokenizers.loading import load_tokenizer


def ingest(checkpoint, folder, text):
    (folder / "text.txt").write_text(text)
    texts = TextExamples(folder / "texts")
    ingest_texts.run(
        vocabulary=Vocabulary(checkpoint / "vocabulary"),
        texts=texts,
        source=TextSource(str(folder / "text.txt")),
        max_length=6,
    )
    return texts


def rows_of(texts, split):
    """The ids of each row, without padding; all inputs are looked at."""
    rows = []
    for batch in task_batches(texts.path, split, 4).epoch():
        assert set(batch) == {"token_ids", "segment_ids", "padding_mask"}
        assert not batch["segment_ids"].numpy().any()
        pairs = zip(batch["token_ids"].numpy(), batch["padding_mask"].numpy(), strict=True)
        rows += [row[mask == 1].tolist() for row, mask in pairs]
    return rows


def test_lines_are_rows_and_a_twentieth_is_held_out(checkpoint, tmp_path):
    lines = [
        f"{first} {second}" for first in "cow hen owl fox oak fir elm".split() for second in "the near old".split()
    ]
    # The order of the file has no part in it, nor have equal lines.
    (tmp_path / "again").mkdir()
    texts = ingest(checkpoint, tmp_path, "\n".join(lines))
    again = ingest(checkpoint, tmp_path / "again", "\n\n".join([*reversed(lines), *lines]))
    tokenizer = load_tokenizer(checkpoint / "vocabulary")
    expected = {line: [tokenizer.cls_id, *tokenizer.tokenize([line]).to_list()[0], tokenizer.sep_id] for line in lines}
    splits = {split: rows_of(texts, split) for split in ("train", "validation")}
    assert {split: len(rows) for split, rows in splits.items()} == {"train": 20, "validation": 1} == texts.counts
    assert sorted(splits["train"] + splits["validation"]) == sorted(expected.values())
    for split, rows in splits.items():
        assert sorted(rows_of(again, split)) == sorted(rows)


def test_long_lines_lose_their_end_and_are_counted(checkpoint, tmp_path):
    texts = ingest(checkpoint, tmp_path, "cow hen owl fox\ncow hen owl fox oak\n")
    content = read_features(texts.path)
    assert (content["task"], content["max_length"]) == ("text", 6)
    assert sorted(content["truncated_share"].values()) == [0.0, 1.0]
    rows = rows_of(texts, "train") + rows_of(texts, "validation")
    assert rows[0] == rows[1], "but for its end the one is the other"


def test_a_single_line_is_not_enough(checkpoint, tmp_path):
    with pytest.raises(InputError) as caught:
        ingest(checkpoint, tmp_path, "cow\n\n cow ")
    rule = "hold at least two different lines, one to train on and one to validate on"
    assert str(caught.value) == f"the texts {tmp_path / 'text.txt'} must {rule}, got 1"
