import json

import pyarrow as pa
import pyarrow.parquet as pq

from components.sources.retrieval import QueryRow, RetrievalSource


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
