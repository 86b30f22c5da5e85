"""Entries of the log are written once and read in order."""

from components.objects.store import ObjectStore
from pipeline.remote.log import END, RunLog


def test_two_machines_get_two_numbers(memory: ObjectStore) -> None:
    logs = RunLog(memory), RunLog(memory)
    assert [log.claim_run(1, {"claim": str(place)}) for place, log in enumerate(logs)] == [1, 2]


def test_a_claim_whose_answer_was_lost_is_ours(memory: ObjectStore) -> None:
    assert RunLog(memory).claim_run(1, {"claim": "a"}) == 1
    assert RunLog(memory).claim_run(1, {"claim": "a"}) == 1


def test_an_entry_is_never_replaced(memory: ObjectStore) -> None:
    log = RunLog(memory)
    assert log.append(1, "1", {"text": "first"})
    assert not log.append(1, "1", {"text": "second"})
    assert [entry.content for entry in log.new_entries(set())] == [{"text": "first"}]


def test_new_entries_come_in_order_and_once(memory: ObjectStore) -> None:
    log = RunLog(memory)
    log.claim_run(1, {"claim": "a"})
    for place in range(1, 12):
        log.append(1, str(place), {})
    log.append(1, END, {})
    log.forget({"artifacts": [3], "claim": "b"})
    parts = [entry.part for entry in log.new_entries(set())]
    assert parts == ["start", *map(str, range(1, 12)), "end", "1"]
    seen = {entry.name for entry in log.new_entries(set())}
    assert list(log.new_entries(seen)) == []
