"""A job small enough for a test: two made-up languages of topics, a corpus and labelled rows of both."""

import random

TOPICS = {
    "sea": "ship sail harbour wave captain anchor tide rope mast island storm deck sailor current gull".split(),
    "farm": "field barn horse plough wheat fence meadow tractor harvest cow orchard hay rooster soil mill".split(),
}
FRAMES = (
    "the {} stood near the {} until the {} came back .",
    "nobody had seen such a {} before , not even beside the old {} .",
    "they talked about the {} and the {} , then about the {} again .",
    "a {} is worth more than a {} when the {} is gone !",
)

# Rows and steps such that each graph is built for one shape only: building one takes longer than all its steps.
SETTINGS = """
name = "tiny"
max_length = 16
[corpus]
path = "texts"
[examples]
train = "rows.tsv"
[vocabulary]
size = 110
[encoder]
num_layers = 2
hidden_size = 32
num_heads = 2
intermediate_size = 64
attention_dropout = 0.0
initializer_range = 0.06
[pretraining]
steps = 6
xla = "off"
precision = "float32"
[fine_tuning]
xla = "off"
epochs = 6.0
learning_rate = 5e-3
precision = "float32"
[student]
num_layers = 1
[distillation]
xla = "off"
epochs = 6.0
learning_rate = 5e-3
precision = "float32"
[quantization]
xla = "off"
epochs = 2.0
learning_rate = 1e-3
precision = "float32"
[evaluation]
max_export_loss = 10.0
below_baseline = "warn"
"""
# A job of a checkpoint and rows as tests/components/tuning_job.py writes them.
TUNING_JOB = """
name = "small"
max_length = 16
[checkpoint]
path = "model"
[examples]
train = "classification.tsv"
[fine_tuning]
steps = 6
batch_size = 8
xla = "off"
validations = 1
[student]
intermediate_size = 16
[distillation]
steps = 4
batch_size = 8
xla = "off"
[quantization]
recipe = "dynamic_wi8"
post_training = true
calibration_batches = 1
[export]
lengths = [8]
runtimes = ["tflite"]
"""


def write_tuning_job(folder):
    """Writes `TUNING_JOB`, its checkpoint and its rows into a folder; returns the folder."""
    from tests.components import tuning_job

    tuning_job.write_checkpoint(folder)
    tuning_job.write_rows(folder, "classification")
    (folder / "small.toml").write_text(TUNING_JOB)
    return folder


def without(*names):
    """The settings without some tables."""
    return "\n[".join(table for table in SETTINGS.split("\n[") if table.partition("]")[0] not in names)


def sentence(topic, chance):
    """One sentence of a topic."""
    frame = chance.choice(FRAMES)
    return frame.format(*(chance.choice(TOPICS[topic]) for _ in range(frame.count("{}"))))


def other(topic):
    """The other topic."""
    return next(name for name in TOPICS if name != topic)


def write_job(folder, rows=240):
    """Writes texts, rows and settings into a folder; returns the settings file."""
    chance = random.Random(0)
    (folder / "texts").mkdir(parents=True)
    for topic in TOPICS:
        documents = ("\n".join(sentence(topic, chance) for _ in range(8)) for _ in range(20))
        (folder / "texts" / f"{topic}.txt").write_text("\n\n".join(documents))
    labels = [chance.choice(list(TOPICS)) for _ in range(rows)]
    table = "".join(
        # Some labels are wrong, so that no model knows all.
        f"{sentence(label, chance)}\t{label if number % 12 else other(label)}\n"
        for number, label in enumerate(labels)
    )
    (folder / "rows.tsv").write_text("text\tlabel\n" + table)
    file = folder / "tiny.toml"
    file.write_text(SETTINGS)
    return file
