import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from components.beam import engine
from components.beam.engine import (
    BYTES_A_PROCESS,
    RUNNERS,
    THREADED_BYTES_A_PROCESS,
    BeamOptions,
    Scale,
    choose_scale,
    count_processes,
    make_options,
    report_unit,
    run_over,
)
from components.dsl.errors import InputError
from components.dsl.step_folders import set_progress_sink


def test_as_many_processes_as_the_work_is_worth(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(4)))
    sizes = (0, BYTES_A_PROCESS, 2 * BYTES_A_PROCESS, 100 * BYTES_A_PROCESS)
    assert [count_processes(BeamOptions(), size) for size in sizes] == [1, 1, 2, 4]
    assert count_processes(BeamOptions(workers=7), 0) == 7


@pytest.mark.parametrize(
    ("beam", "size", "scale"),
    [
        (BeamOptions(), 0, Scale(1, 4)),
        (BeamOptions(), 3 * THREADED_BYTES_A_PROCESS, Scale(3, 2)),
        (BeamOptions(), 100 * THREADED_BYTES_A_PROCESS, Scale(6, 1)),
        (BeamOptions(workers=2), 0, Scale(2, 3)),
        (BeamOptions(workers=40), 0, Scale(40, 1)),
        (BeamOptions(options={"direct_num_workers": 3}), 0, Scale(3, 2)),
        (BeamOptions(options={"direct_num_workers": 0}), 0, Scale(6, 1)),
        (BeamOptions(runner="fnapi", workers=3), 0, Scale(3, 2)),
        (BeamOptions(runner="FlinkRunner"), 100 * THREADED_BYTES_A_PROCESS, Scale(0, 1)),
    ],
)
def test_processes_and_threads(monkeypatch, beam, size, scale):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(6)))
    assert choose_scale(beam, size, threaded=True) == scale
    assert choose_scale(beam, size, threaded=False).threads == 1
    assert scale.alone == (scale.processes == 1)


def test_options_reach_beam_and_win_over_ours():
    beam = BeamOptions(options={"experiments": ["x"], "direct_num_workers": 3})
    options = make_options(beam, 2).get_all_options()
    assert "x" in options["experiments"]
    assert (options["direct_num_workers"], options["direct_running_mode"]) == (3, "multi_processing")
    assert beam.options["experiments"] == ["x"]
    assert make_options(BeamOptions(runner="FlinkRunner"), 1).get_all_options(drop_default=True) == {}


def test_options_have_the_names_of_their_flags():
    # Their attributes are `use_public_ips` and `extra_packages`.
    given = {"no_use_public_ips": True, "extra_package": ["a.tar.gz", "b.tar.gz"], "project": "p"}
    options = make_options(BeamOptions(runner="DataflowRunner", options=given), 0).get_all_options()
    assert options["use_public_ips"] is False
    assert options["extra_packages"] == ["a.tar.gz", "b.tar.gz"]
    assert options["project"] == "p"


@pytest.mark.parametrize(
    ("runner", "name", "near"),
    [
        ("FnApiRunner", "direct_num_worker", "direct_num_workers"),
        ("DataflowRunner", "no-use-public-ips", "no_use_public_ips"),
    ],
)
def test_an_option_that_beam_does_not_have(runner, name, near):
    rule = rf"^BeamOptions.options.{name} must be an option of Beam, got 3; did you mean '{near}'\?$"
    with pytest.raises(InputError, match=rule):
        make_options(BeamOptions(runner=runner, options={"project": "p", name: 3}), 1)


def test_a_value_that_is_none_of_an_option_s_choices():
    rule = "direct_running_mode must be one of in_memory, multi_threading, multi_processing, got 'multi_process'$"
    with pytest.raises(InputError, match=rule):
        make_options(BeamOptions(options={"direct_running_mode": "multi_process"}), 1)


def test_a_job_service_may_have_options_of_its_own():
    options = make_options(BeamOptions(runner="FlinkRunner", options={"parallelism": 8}), 1)
    assert options.get_all_options(retain_unknown_options=True)["parallelism"] == 8


@pytest.mark.parametrize(
    ("beam", "reason"),
    [
        (BeamOptions(runner="none.such.Runner"), "No module named 'none'"),
        (BeamOptions(runner="json.Runner"), "module 'json' has no attribute 'Runner'"),
        (
            BeamOptions(options={"experiments": "x"}),
            "Pipeline has validations errors: .*need to be specified as a list.",
        ),
    ],
)
def test_a_runner_or_an_option_that_beam_refuses_is_one_line(beam, reason):
    rule = rf"^\[beam\] must name an installed runner and options that it takes, got {reason}$"
    with pytest.raises(InputError, match=rule):
        run_over([1], lambda work: work, beam)


def test_runners_are_those_that_beam_knows_by_name():
    from apache_beam.runners.runner import _RUNNER_MAP

    assert {name.lower() for name in RUNNERS} == set(_RUNNER_MAP)
    for name in ("flinkrunner", "Flink", "prism", "some.module.Runner"):
        assert BeamOptions(runner=name).runner == name


def test_counters_come_back():
    import apache_beam as beam
    from apache_beam.metrics import Metrics

    def count(element):
        Metrics.counter("test", "elements").inc(element)

    assert run_over([1, 2, 3], lambda work: work | beam.Map(count))["elements"] == 6


def test_an_error_of_a_step_is_raised():
    import apache_beam as beam

    with pytest.raises(Exception, match="division by zero"):
        run_over([0], lambda work: work | beam.Map(lambda number: 1 / number))


@pytest.fixture
def reports():
    seen = []
    set_progress_sink(lambda done, total, note: seen.append((done, total, note)))
    yield seen
    set_progress_sink(lambda done, total, note: None)


def test_a_unit_that_is_done_twice_counts_once(tmp_path, reports):
    (tmp_path / "other.json").touch()
    for name in ("a", "b", "a", "c"):
        report_unit(str(tmp_path), name, 3, "writing")
    assert reports == [(1, 3, "writing"), (2, 3, "writing"), (3, 3, "writing")]


def test_units_are_counted_without_a_look_at_all_of_them(tmp_path, reports, monkeypatch):
    def listing(*_):
        raise AssertionError("the folder was listed")

    monkeypatch.setattr(os, "scandir", listing)
    monkeypatch.setattr(os, "listdir", listing)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: report_unit(str(tmp_path), str(number), 300, ""), range(300)))
    assert sorted(done for done, _, _ in reports) == list(range(1, 301))


def test_a_worker_that_cannot_log_its_error_is_not_waited_for(monkeypatch):
    """Beam's worker prints an error before it sends it: on a full disk the answer never comes."""

    class Waiting:
        def run(self):
            threading.Event().wait(60)

    polls = iter([True, False, True, True])
    monkeypatch.setattr(engine, "_POLL_SECONDS", 0.01)
    monkeypatch.setattr(engine, "_is_log_full", lambda: next(polls))
    with pytest.raises(OSError, match="No space left on device"):
        engine._run_watched(Waiting())
    assert next(polls, None) is None, "a disk that has room again is none"


def test_pipes_are_never_full():
    reader, writer = os.pipe()
    assert not engine._is_log_full(writer)
    os.close(reader)
    os.close(writer)
