import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from components.dsl.errors import InputError
from components.sources.retrieval import QueryRow, RetrievalSource
from keras_bert.options.data import Prompts


def test_rows_of_one_query_are_one_row(tmp_path):
    file = tmp_path / "a.tsv"
    file.write_text("q\tp\tn\none\tA\tX\ntwo\tB\tX\none\tC\tY\none\tA\tX\n")
    source = RetrievalSource(str(file), query="q", passage="p", negatives=("n",))
    expected = [QueryRow("one", ("A", "C"), ("X", "Y")), QueryRow("two", ("B",), ("X",))]
    assert source.splits() == {"train": expected}
    assert RetrievalSource(str(file), query="q", passage="p").splits()["train"][0] == QueryRow("one", ("A", "C"))


def test_lists_of_json_and_parquet(tmp_path):
    rows = [{"query": "one", "passage": ["A", "C"], "negatives": ["X", "Y"]}]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")
    for name in ("a.jsonl", "a.parquet"):
        source = RetrievalSource(str(tmp_path / name), negatives=("negatives",))
        assert source.splits() == {"train": [QueryRow("one", ("A", "C"), ("X", "Y"))]}


def test_the_fingerprint_follows_content_columns_and_prompts(tmp_path):
    file = tmp_path / "a.tsv"
    file.write_text("query\tpassage\tother\na\tb\tc\n")
    sources = [
        RetrievalSource(str(file)),
        RetrievalSource(str(file), passage="other"),
        RetrievalSource(str(file), negatives=("other",)),
        RetrievalSource(str(file), prompts=Prompts(query="query: ")),
        RetrievalSource(str(file), near_overlap="drop"),
    ]
    prints = {source.fingerprint() for source in sources}
    file.write_text("query\tpassage\tother\na\tb\td\n")
    assert len(prints | {sources[0].fingerprint()}) == 6


HEADER = "query\tpassage\tn\n"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.tsv", HEADER, r"the table .*a\.tsv must hold at least one row, got none$"),
        ("a.tsv", HEADER + "one\t \tX\n", r"a\.tsv line 2: column 'passage' must not be empty$"),
        ("a.tsv", "query\tpassages\tn\none\tA\tX\n", r"has no column 'passage'; did you mean 'passages'\?$"),
        ("a.tsv", HEADER + "one\tA\tA\n", r"a\.tsv line 2: the negative 'A' must be no passage of its query"),
        # As a whole, not row by row.
        ("a.tsv", HEADER + "one\tA\tB\none\tB\tC\n", r"a\.tsv line 3: the negative 'B' must be no passage of "),
        ("a.jsonl", '{"query": "one", "passage": [], "n": "X"}', r"line 1: column 'passage' must not be empty$"),
        ("a.jsonl", '{"query": "one", "passage": "A", "n": null}', r"line 1: field 'n' must be text, got None; fill"),
        ("a.jsonl", '{"query": ["a", "b"], "passage": "A", "n": "X"}', r"column 'query' must hold one query, got 2$"),
    ],
)
def test_bad_rows(tmp_path, name, content, message):
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=message):
        RetrievalSource(str(tmp_path / name), negatives=("n",)).check()
