"""What the table `[search]` may not say."""

import pytest

from tests.pipeline.settings.texts import CHECKPOINT, CORPUS, EXAMPLES, refusal


@pytest.mark.parametrize(
    ("override", "message"),
    [
        (
            "search.fine_tuning.learning_rate=[2e-4, 1e-5]",
            "search.fine_tuning.learning_rate must begin with its least...",
        ),
        (
            "search.fine_tuning.learning_rate=[0.0, 1e-5]",
            "search.fine_tuning.learning_rate.0 must be positive, got 0.0",
        ),
        (
            "search.fine_tuning.epochs=[1, 2, 3]",
            "search.fine_tuning.epochs must hold one value or two, got [1.0, 2.0, 3.0]",
        ),
        ("search.fine_tuning.epochs=[]", "search.fine_tuning.epochs must hold one value or two, got []"),
        ("search.fine_tuning.layer_decay=[0.5, 1.5]", "search.fine_tuning.layer_decay.1 must be at most 1, got 1.5"),
        (
            "search.fine_tuning.batch_size=[16, 16]",
            "search.fine_tuning.batch_size must hold each value once, got [16, 16]",
        ),
        ("search.fine_tuning.batch_size=[1.5]", "search.fine_tuning.batch_size.0 must be a valid integer, got 1.5"),
        ("search.fine_tuning.rate=[1.0, 2.0]", "there is no setting 'search.fine_tuning.rate'..."),
        ("search.pooling=['max']", "search.pooling.0 must be 'cls' or 'mean', got 'max'"),
        ("search.finalists=0", "search.finalists must be at least 1, got 0"),
        (
            "search.fine_tuning.learning_rate=[inf]",
            "search.fine_tuning.learning_rate.0 must be a finite number, got inf",
        ),
        ("search.distillation.epochs=[nan]", "search.distillation.epochs.0 must be a finite number, got nan"),
    ],
)
def test_refuses_value(tmp_path, override, message):
    assert refusal(tmp_path, CHECKPOINT + EXAMPLES, override).startswith(message.removesuffix("..."))


def test_is_left_out_without_examples(tmp_path):
    assert refusal(tmp_path, CORPUS, "search.finalists=2").startswith("search must be left out without [examples]")
