import resource

import numpy as np
import pytest

from keras_bert.training.checkpoints import CheckpointError, Checkpoints

ARRAYS = {"a": np.arange(6, dtype="float32").reshape(2, 3), "b": np.array(7, "int64")}


def files(folder):
    return sorted(file.name for file in folder.iterdir())


def test_round_trip_and_rotation(tmp_path):
    checkpoints = Checkpoints(tmp_path / "new" / "folder")
    assert checkpoints.load() is None
    for step in (5, 10, 100):
        checkpoints.save(step, {**ARRAYS, "step": np.array(step)}, {"step": step, "loss": 0.1 + 0.2})
    assert [name[:10] for name in files(checkpoints.folder)] == ["000000010-", "000000100-"]
    state = Checkpoints(checkpoints.folder).load()
    assert state.state == {"step": 100, "loss": 0.1 + 0.2}
    assert {name: (array.dtype, array.tolist()) for name, array in state.arrays.items()} == {
        name: (array.dtype, array.tolist()) for name, array in {**ARRAYS, "step": np.array(100)}.items()
    }


@pytest.mark.parametrize("damage", [lambda whole: whole[:-5], lambda whole: whole[:-1] + b"x", lambda whole: b""])
def test_a_damaged_one_is_told_of_and_passed_over(tmp_path, caplog, damage):
    checkpoints = Checkpoints(tmp_path)
    checkpoints.save(1, ARRAYS, {"step": 1})
    newest = checkpoints.save(2, ARRAYS, {"step": 2})
    newest.write_bytes(damage(newest.read_bytes()))
    (tmp_path / "000000002-1.partial").write_bytes(b"half")
    assert checkpoints.load().state == {"step": 1}
    assert files(tmp_path) == [files(tmp_path)[0], newest.with_suffix(".damaged").name]
    checkpoints.save(2, ARRAYS, {"step": 2})
    assert checkpoints.load().state == {"step": 2}
    assert f"the checkpoint {newest} is damaged; going back to the one before it" in caplog.text


def test_all_damaged(tmp_path):
    checkpoints = Checkpoints(tmp_path)
    checkpoints.save(1, ARRAYS, {}).write_bytes(b"none")
    with pytest.raises(CheckpointError, match="holds only checkpoints that are damaged; run again to start over"):
        checkpoints.load()


def test_a_full_disk_leaves_what_was_there(tmp_path):
    checkpoints = Checkpoints(tmp_path, keep=1)
    checkpoints.save(1, ARRAYS, {"step": 1})
    before = files(tmp_path)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, hard))
    try:
        with pytest.raises(OSError, match="large"):
            checkpoints.save(2, {"a": np.zeros(100_000)}, {"step": 2})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert files(tmp_path) == before
    assert checkpoints.load().state == {"step": 1}
