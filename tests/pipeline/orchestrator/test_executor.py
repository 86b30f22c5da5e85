"""The child's side of the pipe to the launcher."""

from multiprocessing import Pipe

from pipeline.orchestrator.executor import _send


def test_progress_of_a_step_whose_parent_ended_it_is_no_error():
    """The step has to live on until its checkpoint is written."""
    ours, theirs = Pipe()
    _send(theirs, (1.0, 2.0, "half"))
    assert ours.recv() == (1.0, 2.0, "half")
    ours.close()
    _send(theirs, (2.0, 2.0, "all"))
