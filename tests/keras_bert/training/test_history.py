import json

import tensorflow as tf

from keras_bert.training.history import RunningRecord, write_history


def test_history_file(tmp_path):
    write_history([{"step": 1, "loss": 0.5}, {"step": 2, "loss": 0.25}], tmp_path / "history.jsonl")
    assert (tmp_path / "history.jsonl").read_text() == '{"loss": 0.5, "step": 1}\n{"loss": 0.25, "step": 2}\n'


def test_running_record(tmp_path):
    record = RunningRecord(tmp_path / "seed-0", [{"step": 1, "loss": 0.5}])
    record.add({"step": 2, "loss": 0.25}, {"tokens_per_second": 9.0})
    record.close()
    lines = (tmp_path / "seed-0" / "history.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [
        {"step": 1, "loss": 0.5},
        {"step": 2, "loss": 0.25, "tokens_per_second": 9.0},
    ]
    (events,) = (tmp_path / "seed-0").glob("events*")
    records = [
        (event.step, value.tag, float(tf.make_ndarray(value.tensor)))
        for event in tf.compat.v1.train.summary_iterator(str(events))
        for value in event.summary.value
    ]
    assert records == [(1, "loss", 0.5), (2, "loss", 0.25), (2, "tokens_per_second", 9.0)]
