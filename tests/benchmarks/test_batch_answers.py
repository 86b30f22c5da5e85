"""The table of contestants that embed texts counts the rows that there are."""

import argparse
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks import batch_answers
from benchmarks.harness.processes import Watched


def test_counts_the_rows_of_a_short_table(monkeypatch, tmp_path, capsys):
    def run(_, arguments, *__):
        for out in arguments:
            if out.endswith(".parquet"):
                pq.write_table(pa.table({"vector": [[1.0, 0.0]] * 3}), out)
        return Watched({"seconds": 0.5, "processor": 1.0, "versions": "1"}, 100.0)

    monkeypatch.setattr(batch_answers, "watch", run)
    monkeypatch.setattr(
        batch_answers, "load_settings", lambda _: SimpleNamespace(checkpoint=SimpleNamespace(folder=lambda: tmp_path))
    )
    table = tmp_path / "texts.csv"
    table.write_text("sentence\na\nb\nc\n")
    options = argparse.Namespace(table=table, text="sentence", rows=4000, rounds=1, transformers_python=None)
    batch_answers.print_table(batch_answers.race(options, tmp_path), options)
    printed = capsys.readouterr().out
    assert "3 rows, medians of 1" in printed
    assert all(line.split("│")[3].strip() == "6" for line in printed.splitlines() if ".onnx" in line)
