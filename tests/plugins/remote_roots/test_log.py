"""Entries of the log are written once and read in order."""

from plugins.remote_roots.log import END, RunLog


def claim(memory, name, joined=""):
    def joined_run(number, other):
        return number if other["claim"] == joined else None

    return RunLog(memory).claim(1, {"claim": name, "joins": None}, joined_run)


def test_two_machines_get_two_numbers(memory):
    assert [claim(memory, name) for name in ("a", "b")] == [(1, 1), (2, 2)]


def test_a_claim_whose_answer_was_lost_is_ours(memory):
    assert claim(memory, "a") == claim(memory, "a") == (1, 1)


def test_a_run_that_another_process_has_started_meanwhile_is_joined(memory):
    claim(memory, "a")
    assert claim(memory, "b", joined="a") == (2, 1)
    assert claim(memory, "c", joined="b") == (3, 2)
    assert [entry.content["joins"] for entry in RunLog(memory).new_entries(set())] == [None, 1, 2]


def test_an_entry_is_never_replaced(memory):
    log = RunLog(memory)
    assert log.append(1, "1", {"text": "first"})
    assert not log.append(1, "1", {"text": "second"})
    assert [entry.content for entry in log.new_entries(set())] == [{"text": "first"}]


def test_new_entries_come_in_order_and_once(memory):
    log = RunLog(memory)
    claim(memory, "a")
    for place in range(1, 12):
        log.append(1, str(place), {})
    log.append(1, END, {})
    log.forget({"artifacts": [3], "claim": "b"})
    parts = [entry.part for entry in log.new_entries(set())]
    assert parts == ["start", *map(str, range(1, 12)), "end", "1"]
    seen = {entry.name for entry in log.new_entries(set())}
    assert list(log.new_entries(seen)) == []
