"""The files of a search for a small model: its values as JSON, its table and its plot."""

import json
import tomllib

from components.artifacts.evaluation import SeedScores
from plugins.search.files import write_search
from plugins.search.halving import Round
from plugins.search.limits import Miss
from plugins.search.results import RoundResult, Rung, StudentResult

TEACHER = Rung(16.0, 12.0, {"128": 8.0}, SeedScores(0.9, None, [0.9]), 1.0, 1.0)
SMALL = Rung(2.0, 1.5, {"128": 1.0}, SeedScores(0.81, None, [0.81]), 0.9, 1.0, on_front=True)


def test_values_and_tables_of_a_small_model_that_misses_its_share(tmp_path):
    limits = {"megabytes": 3.0, "share": 0.96}
    result = StudentResult(name="reviews", seeds=1, minutes=60.0, lengths=[128], limits=limits)
    result.metric, result.rows = "accuracy", 500
    result.rungs, result.winner = {"teacher": TEACHER, "l1-wi4": SMALL}, "l1-wi4"
    result.rounds, result.planned = [RoundResult(1 / 3, {"l1-wi4": 0.8})], (Round(2, 1 / 3),)
    result.missed = [Miss("share", "share", "l1-wi4", 0.9, 0.96, 0.06)]
    result.tables = {"student": {"num_layers": 1}, "quantization": {"recipe": "weights_wi4"}}
    result.expected, result.seconds = 70.0, 65.0
    tables = {
        "name": "reviews",
        "student": {"layers": [0, 5]},
        "quantization": {"recipe": "float16", "steps": 3},
        "search": {"finalists": 1},
    }
    values, table, *pictures, winner = write_search(result, tables, tmp_path / "searched")
    assert tomllib.loads(winner.read_text()) == {
        "name": "reviews",
        "student": {"num_layers": 1},
        "quantization": {"recipe": "weights_wi4", "steps": 3},
    }
    content = json.loads(values.read_text())
    assert content["rungs"]["l1-wi4"] == {
        "megabytes": 2.0,
        "download_megabytes": 1.5,
        "milliseconds": {"128": 1.0},
        "score": {"mean": 0.81, "sd": None, "seeds": [0.81]},
        "share": 0.9,
        "trained": 1.0,
        "on_front": True,
    }
    assert content["planned"] == [{"candidates": 2, "share": 1 / 3}]
    assert (content["missed"][0]["over"], content["winner"], content["pushed"]) == (0.06, "l1-wi4", "")
    text = table.read_text()
    assert "| l1-wi4 • | 81.00 | 90.0 | 100 | 2.00 | 1.50 | 1.00 |" in text
    assert "1 min 05 s, without the teacher; the plan was 1 min 10 s" in text
    assert {picture.suffix for picture in pictures} == {".svg", ".png"}
    assert result.reasons() == ["--min-share 0.96 cannot be met: the best model, l1-wi4, keeps 0.900, 0.06 too little"]
