"""The tables: defaults, the kinds of data, and that each value keeps its rule."""

import pytest

from components.corpus.cleaning import Cleaning
from components.dsl.errors import InputError
from components.scoring.blessing import Thresholds
from components.sources.docstring_task import DocstringTask
from components.sources.docstrings import DocstringCorpus
from components.sources.label_sets import LabelSetSource
from components.sources.questions import QuestionSource
from components.sources.table import TableSource
from components.sources.tagged_words import SentenceSource
from components.sources.text import TextSource
from keras_bert.core.processor import native_precision
from keras_bert.families.bigbird.settings import BigBird
from keras_bert.families.longformer.settings import Longformer
from keras_bert.options.compression import Student
from keras_bert.options.export import Export
from keras_bert.options.fine_tuning import Selection
from keras_bert.options.tables import DistillationSettings, FineTuningSettings, QuantizationSettings
from keras_bert.options.training import Training
from pipeline.settings.schema import (
    PretrainingRowsSettings,
    PretrainingSettings,
    Settings,
    select_fields,
)
from tests.pipeline.settings.texts import CHECKPOINT, CORPUS, EXAMPLES, keys_of, load


def test_a_checkpoint_and_rows_are_enough(tmp_path):
    settings = load(tmp_path, CHECKPOINT + EXAMPLES)
    assert (settings.name, settings.max_length, settings.pooling, settings.seeds) == ("model", 128, None, 1)
    assert (settings.corpus, settings.student, settings.quantization) == (None, None, None)
    assert settings.fine_tuning == FineTuningSettings()
    assert (settings.export, settings.evaluation, settings.push.folder) == (Export(), Thresholds(), "")


@pytest.mark.parametrize("source", [SentenceSource(train="names.conll"), TableSource(train="moods.tsv")])
def test_rows_of_any_kind_may_be_an_object(tmp_path, source):
    settings = load(tmp_path, CHECKPOINT + EXAMPLES)
    assert Settings(checkpoint=settings.checkpoint, examples=source).examples == source


def test_a_corpus_and_the_shape_of_an_encoder_are_enough(tmp_path):
    settings = load(tmp_path, CORPUS)
    assert (settings.checkpoint, settings.examples) == (None, None)
    assert settings.corpus == TextSource(str(tmp_path / "texts"))
    assert (settings.cleaning, settings.vocabulary.size, settings.vocabulary.lowercase) == (Cleaning(), 8000, True)
    assert settings.pretraining_rows == PretrainingRowsSettings(short_steps=0.9)


def test_a_table_switches_its_steps_on_and_one_key_leaves_the_others_at_their_defaults(tmp_path):
    text = "[quantization]\n[student]\nlayers = [0, 2]\n[distillation]\nepochs = 1.5\n[fine_tuning]\nlearning_rate = 1"
    settings = load(tmp_path, CHECKPOINT + EXAMPLES + text)
    assert (settings.quantization, settings.student) == (QuantizationSettings(), Student(layers=(0, 2)))
    assert settings.distillation == DistillationSettings(epochs=1.5)
    assert settings.fine_tuning == FineTuningSettings(learning_rate=1.0)


def test_each_training_has_its_own_defaults_and_the_fastest_precision_of_this_machine():
    rates = {kind: kind().learning_rate for kind in (PretrainingSettings, FineTuningSettings, DistillationSettings)}
    assert rates == {PretrainingSettings: 1e-4, FineTuningSettings: 5e-5, DistillationSettings: 1e-4}
    assert (QuantizationSettings().learning_rate, QuantizationSettings().epochs) == (2e-5, 1.0)
    for kind in (*rates, QuantizationSettings):
        assert kind().precision == native_precision(), "what was chosen stands there, not that it was"
        assert kind(precision="float32").precision == "float32"


def test_the_parts_of_a_table_for_steps_that_read_less():
    table = FineTuningSettings(epochs=2.0, keep="last", precision="float32")
    assert select_fields(table, Training) == Training(epochs=2.0)
    assert select_fields(table, Selection) == Selection(keep="last")


@pytest.mark.parametrize(
    ("task", "kind", "more"),
    [
        ("classification", TableSource, ""),
        ("regression", TableSource, ""),
        ("embedding", TableSource, "second_text = 'other'\nscale = 5.0"),
        ("token_classification", SentenceSource, ""),
        ("question_answering", QuestionSource, ""),
        ("multi_label", LabelSetSource, "separator = ';'"),
        ("multi_label", LabelSetSource, "label_columns = ['film', 'sea']\nlabel_precision = 0.9"),
    ],
)
def test_every_task_has_its_source(tmp_path, task, kind, more):
    settings = load(tmp_path, CHECKPOINT + EXAMPLES + f"task = '{task}'\n{more}")
    assert isinstance(settings.examples, kind)
    assert settings.examples.task == task


def test_tables_without_keys_of_the_users_own_are_the_docstrings(tmp_path):
    settings = load(tmp_path, CHECKPOINT + "[corpus]\nmegabytes = 2.0\n[examples]\nrows = 300")
    assert (settings.corpus, settings.examples) == (DocstringCorpus(2.0), DocstringTask(300))


def test_class_weights_are_a_word_or_a_table(tmp_path):
    text = CHECKPOINT + EXAMPLES
    assert load(tmp_path, text, "fine_tuning.class_weights=balanced").fine_tuning.class_weights == "balanced"
    settings = load(tmp_path, text + "[fine_tuning.class_weights]\nyes = 2\nno = 0.5")
    assert settings.fine_tuning.class_weights == {"yes": 2.0, "no": 0.5}


@pytest.mark.parametrize("value", ["inf", "-inf", "nan"])
def test_every_number_is_finite(tmp_path, value):
    keys = {key for key, kind in keys_of(Settings) if kind is float} - {
        "beam.options",
        "fine_tuning.class_weights",
        "evaluation.min_slice_scores",
    }
    assert {"corpus.megabytes", "distillation.clip_norm", "pretraining.epochs", "encoder.dropout"} <= keys
    shape = "num_layers = 1\nhidden_size = 8\nnum_heads = 1\nintermediate_size = 8\n"
    kinds = {"adaptation": "[adaptation]\nkind = 'lora'\n", "examples": EXAMPLES}
    kinds["general_distillation"] = "[general_distillation]\npath = 'texts'\n"
    kinds["encoder"] = "[encoder.variant]\nkind = 'modernbert'\n"
    gated = "[encoder.variant]\nkind = 'gated'\n"
    kinds |= dict.fromkeys(("encoder.variant.position_scale", "encoder.variant.theta"), gated)
    kinds["examples.label_precision"] = EXAMPLES + "task = 'multi_label'\n"
    for key in sorted(keys):
        table = kinds.get(key, kinds.get(key.split(".")[0], ""))
        with pytest.raises(InputError, match=rf"^{key} must be a finite number, got {value}$"):
            load(tmp_path, f"[encoder]\n{shape}" + table, f"{key}={value}")
    with pytest.raises(InputError, match=rf"^fine_tuning.class_weights.yes must be a finite number, got {value}$"):
        load(tmp_path, CHECKPOINT + EXAMPLES, f"fine_tuning.class_weights.yes={value}")
    with pytest.raises(InputError, match=rf"beam.options.x must be a finite number, got {value}"):
        load(tmp_path, CORPUS, f"beam.options.x={value}")


def test_a_vocabulary_of_bytes_has_room_for_all_of_them(tmp_path):
    with pytest.raises(InputError, match=r"^vocabulary\.size must be at least 261, got 260$"):
        load(tmp_path, CORPUS + EXAMPLES, "vocabulary.kind=bpe", "vocabulary.size=260")
    assert load(tmp_path, CORPUS + EXAMPLES, "vocabulary.kind=bpe", "vocabulary.size=261").vocabulary.kind == "bpe"


def test_a_long_text_by_attention_that_suits_it(tmp_path):
    windows = "max_length = 8192\n" + CORPUS + "[encoder.variant]\nkind = 'longformer'\nwindows = [4, 8]\n"
    settings = load(tmp_path, windows)
    assert (settings.max_length, settings.encoder.variant) == (8192, Longformer(windows=(4, 8)))
    blocks = CORPUS + "[encoder.variant]\nkind = 'bigbird'\nblock_size = 16\n"
    settings = load(tmp_path, blocks)
    assert settings.encoder.variant == BigBird(block_size=16)
