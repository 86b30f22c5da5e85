"""Changes that a job has not made and can make."""

import pytest

from pipeline.settings.changes import list_changes
from tests.pipeline.settings.texts import CORPUS, EXAMPLES, QUERIES, load

LAYERS = "keep more of the teacher's layers than 1 (student.{})"
LONGER = "raise distillation.epochs (3)"
TEXTS = "add texts that the teacher labels ([unlabelled])"
COPIES = "add altered copies of the rows (teacher_labels.copies)"
NEW_PAIRS = "add new pairs of the rows' texts (teacher_labels.new_pairs)"
PAIRS = "[examples]\ntrain = 'rows.tsv'\nsecond_text = 'other'\n"
FLOAT = "keep layers in float32 (quantization.float_layers), which `doctor JOB --fix 1` finds"


@pytest.mark.parametrize(
    ("examples", "overrides", "changes"),
    [
        (
            EXAMPLES,
            ["num_layers=1"],
            [LAYERS.format("num_layers"), LONGER, TEXTS],
        ),
        (EXAMPLES, ["layers=[1]"], [LAYERS.format("layers"), LONGER, TEXTS]),
        (EXAMPLES, ["num_layers=2", "distillation.steps=9"], ["raise distillation.steps (9)", TEXTS]),
        (EXAMPLES, ["num_heads=1", "unlabelled.path='texts'"], [LONGER, COPIES]),
        (EXAMPLES, ["num_heads=1", "unlabelled.path='texts'", "teacher_labels.copies=1"], [LONGER]),
        (PAIRS, ["num_heads=1"], [LONGER, NEW_PAIRS]),
        (PAIRS, ["num_heads=1", "teacher_labels.new_pairs=2"], [LONGER, COPIES]),
        (QUERIES, ["num_heads=1"], [LONGER]),
    ],
)
def test_of_a_student(tmp_path, examples, overrides, changes):
    first, *others = overrides
    assert list_changes(load(tmp_path, CORPUS + examples, f"student.{first}", *others)) == {"student": changes}


@pytest.mark.parametrize(
    ("overrides", "changes"),
    [
        ([], {}),
        (["pruning.sparsity=0.6"], {"pruning": ["lower pruning.sparsity (0.6)", "raise pruning.epochs (1)"]}),
        (["pruning.pattern='2:4'", "pruning.epochs=2"], {"pruning": ["raise pruning.epochs (2)"]}),
        (["quantization.epochs=0.5"], {"quantization": ["raise quantization.epochs (0.5)", FLOAT]}),
        (["quantization.post_training=true"], {"quantization": ["leave out quantization.post_training", FLOAT]}),
        (["quantization.recipe='float16'"], {"quantization": ["raise quantization.epochs (1)"]}),
        (
            ["quantization.recipe='weights_wi4'"],
            {
                "quantization": [
                    'set quantization.recipe = "dynamic_wi8", which has 8 bits instead of 4',
                    "raise quantization.epochs (1)",
                    FLOAT,
                ]
            },
        ),
    ],
)
def test_of_pruning_and_quantization(tmp_path, overrides, changes):
    assert list_changes(load(tmp_path, CORPUS + EXAMPLES, *overrides)) == changes


def test_of_a_checkpoint_that_is_not_on_this_machine(tmp_path):
    job = "[checkpoint]\npath = 'package:absent_package/model'\n" + EXAMPLES
    assert list_changes(load(tmp_path, job, "student.num_layers=1"))["student"][0] == LAYERS.format("num_layers")
