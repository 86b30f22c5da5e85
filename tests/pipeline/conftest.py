"""What the commands of this package measure of the machine: once a process."""

import functools

import pytest

from pipeline import workload


@pytest.fixture(scope="session", autouse=True)
def measured_machine():
    """The products that say how fast this machine is are counted once, not for each `init` and each new job."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(workload, "time_product", functools.cache(workload.time_product))
        yield
