import pytest


@pytest.fixture
def eager():
    """To trace takes longer than the trainings of many tests."""
    tf = pytest.importorskip("tensorflow")
    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)
