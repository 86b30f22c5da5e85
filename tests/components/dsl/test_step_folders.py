from pathlib import Path

from components.dsl.step_folders import (
    ProgressParts,
    StepFolders,
    report_progress,
    set_progress_sink,
    set_step_folders,
    step_folders,
)


def test_progress_goes_to_the_sink() -> None:
    report_progress(1, 2)  # nobody listens: nothing happens
    seen: list[tuple[float, float, str]] = []
    set_progress_sink(lambda done, total, note: seen.append((done, total, note)))
    try:
        report_progress(1, 2, "half")
    finally:
        set_progress_sink(lambda done, total, note: None)
    report_progress(2, 2)
    assert seen == [(1, 2, "half")]


def test_stages_are_one_progress() -> None:
    seen: list[tuple[float, float, str]] = []
    stages = ProgressParts([6.0, 0.0, 2.0], lambda *report: seen.append(report))
    for number, report in ((0, (50, 100, "a")), (0, (0, 0, "b")), (1, (1, 1, "c")), (2, (0, 3, "d")), (2, (3, 3, "e"))):
        stages.sink(number)(*report)
    assert seen == [(3, 8, "a"), (0, 0, "b"), (6, 8, "c"), (6, 8, "d"), (8, 8, "e")]


def test_a_step_finds_its_folders(tmp_path: Path) -> None:
    assert step_folders() == StepFolders(checkpoints=None, record=None, scratch=None)
    folders = StepFolders(checkpoints=tmp_path)
    set_step_folders(folders)
    try:
        assert step_folders() is folders
    finally:
        set_step_folders(StepFolders())
