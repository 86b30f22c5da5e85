"""The tables: defaults, the kinds of data, and that each value keeps its rule."""

from pathlib import Path

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
from keras_bert.options.training import Training
from pipeline.settings.schema import (
    DistillationSettings,
    FineTuningSettings,
    PretrainingRowsSettings,
    PretrainingSettings,
    QuantizationSettings,
    Settings,
    select_fields,
)
from tests.pipeline.settings.texts import CHECKPOINT, CORPUS, EXAMPLES, keys_of, load


def test_a_checkpoint_and_rows_are_enough(tmp_path: Path) -> None:
    settings = load(tmp_path, CHECKPOINT + EXAMPLES)
    assert (settings.name, settings.max_length, settings.pooling, settings.seeds) == ("model", 128, None, 1)
    assert (settings.corpus, settings.student, settings.quantization) == (None, None, None)
    assert settings.fine_tuning == FineTuningSettings()
    assert (settings.export, settings.evaluation, settings.push.folder) == (Export(), Thresholds(), "")


def test_a_corpus_and_the_shape_of_an_encoder_are_enough(tmp_path: Path) -> None:
    settings = load(tmp_path, CORPUS)
    assert (settings.checkpoint, settings.examples) == (None, None)
    assert settings.corpus == TextSource(str(tmp_path / "texts"))
    assert (settings.cleaning, settings.vocabulary.size, settings.vocabulary.lowercase) == (Cleaning(), 8000, True)
    assert settings.pretraining_rows == PretrainingRowsSettings(short_steps=0.9)


def test_a_table_that_is_there_switches_its_steps_on(tmp_path: Path) -> None:
    settings = load(tmp_path, CHECKPOINT + EXAMPLES + "[quantization]\n[student]\nlayers = [0, 2]")
    assert settings.quantization == QuantizationSettings()
    assert settings.student == Student(layers=(0, 2))


def test_one_key_of_a_table_leaves_the_others_at_their_defaults(tmp_path: Path) -> None:
    text = "[student]\nnum_layers = 1\n[distillation]\nepochs = 1.5\n[fine_tuning]\npatience = 2\nlearning_rate = 1\n"
    settings = load(tmp_path, CHECKPOINT + EXAMPLES + text)
    assert settings.distillation == DistillationSettings(epochs=1.5)
    assert settings.fine_tuning == FineTuningSettings(patience=2, learning_rate=1.0)


def test_each_training_has_its_own_defaults_and_the_fastest_precision_of_this_machine() -> None:
    rates = {kind: kind().learning_rate for kind in (PretrainingSettings, FineTuningSettings, DistillationSettings)}
    assert rates == {PretrainingSettings: 1e-4, FineTuningSettings: 5e-5, DistillationSettings: 1e-4}
    assert (QuantizationSettings().learning_rate, QuantizationSettings().epochs) == (2e-5, 1.0)
    for kind in (*rates, QuantizationSettings):
        assert kind().precision == native_precision(), "what was chosen stands there, not that it was"
        assert kind(precision="float32").precision == "float32"


def test_the_parts_of_a_table_for_steps_that_read_less() -> None:
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
def test_every_task_has_its_source(tmp_path: Path, task: str, kind: type, more: str) -> None:
    settings = load(tmp_path, CHECKPOINT + EXAMPLES + f"task = '{task}'\n{more}")
    assert isinstance(settings.examples, kind)
    assert settings.examples.task == task


def test_tables_without_keys_of_the_users_own_are_the_docstrings(tmp_path: Path) -> None:
    settings = load(tmp_path, CHECKPOINT + "[corpus]\nmegabytes = 2.0\n[examples]\nrows = 300")
    assert (settings.corpus, settings.examples) == (DocstringCorpus(2.0), DocstringTask(300))


def test_class_weights_are_a_word_or_a_table(tmp_path: Path) -> None:
    text = CHECKPOINT + EXAMPLES
    assert load(tmp_path, text, "fine_tuning.class_weights=balanced").fine_tuning.class_weights == "balanced"
    settings = load(tmp_path, text + "[fine_tuning.class_weights]\nyes = 2\nno = 0.5")
    assert settings.fine_tuning.class_weights == {"yes": 2.0, "no": 0.5}


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("pooling=max", "pooling must be 'cls' or 'mean', got 'max'"),
        ("seeds=0", "seeds must be at least 1, got 0"),
        ("seeds=101", "seeds must be at most 100, got 101"),
        ("seeds=two", "seeds must be a valid integer, got 'two'"),
        ("stride=0", "stride must be at least 1, got 0"),
        ("checkpoint.path=", "checkpoint.path must not be empty, got ''"),
        ("corpus.document_end=page", "corpus.document_end must be 'blank line' or 'file', got 'page'"),
        ("cleaning.threshold=2.0", "cleaning.threshold must be at most 1, got 2.0"),
        ("vocabulary.size=99", "vocabulary.size must be at least 100, got 99"),
        ("vocabulary.kind=bpee", "vocabulary.kind must be 'wordpiece', 'bpe' or 'unigram', got 'bpee'"),
        ("masking.strategy=words", "masking.strategy must be 'tokens', 'whole_words' or 'spans', got 'words'"),
        (
            "pretraining_rows.objective=order",
            "pretraining_rows.objective must be 'next_sentence', 'sentence_order' or 'none', got 'order'",
        ),
        ("pretraining_rows.short_length=4", "pretraining_rows.short_length must be at least 8, got 4"),
        ("pretraining_rows.short_steps=1.0", "pretraining_rows.short_steps must be below 1, got 1.0"),
        ("pretraining_rows.held_out=0.0", "pretraining_rows.held_out must be positive, got 0.0"),
        ("pretraining_rows.duplication=0", "pretraining_rows.duplication must be positive, got 0"),
        ("pretraining_rows.short_share=1.5", "pretraining_rows.short_share must be at most 1, got 1.5"),
        ("encoder.num_heads=3", "encoder.hidden_size must be a multiple of num_heads=3, got 32"),
        ("pretraining.steps=0", "pretraining.steps must be positive, got 0"),
        ("pretraining.precision=half", "pretraining.precision must be 'auto', 'float32', 'bfloat16' or 'float16', got"),
        (
            "examples.task=tags",
            "examples.task must be one of ['classification', 'multi_label', 'regression', 'token_classification', ",
        ),
        ("examples.task=3", "examples.task must be one of "),
        ("examples.task=embedding", "examples.second_text must be set for embedding, got None"),
        (
            "examples.separator=;",
            "examples.separator must be left out, as it does not go with the other",
        ),
        ("examples.scale=5", "examples.scale must be left out but for embedding, got 5.0"),
        ("fine_tuning.batch_size=0", "fine_tuning.batch_size must be positive, got 0"),
        ("fine_tuning.warmup=2", "fine_tuning.warmup must be at most 1, got 2"),
        ("fine_tuning.patience=0", "fine_tuning.patience must be positive, got 0"),
        ("fine_tuning.keep=first", "fine_tuning.keep must be 'best' or 'last', got 'first'"),
        ("fine_tuning.class_weights=balance", "fine_tuning.class_weights must be 'none' or 'balanced', got 'balance'"),
        ("fine_tuning.class_weights.yes=much", "fine_tuning.class_weights.yes must be a valid number, got 'much'"),
        (
            "adaptation.kind=lorra",
            "adaptation.kind must be one of 'lora', 'adapters', 'prompt', 'bias', got 'lorra'",
        ),
        ("adaptation.rank=4", "adaptation.kind must be set"),
        ("adaptation={kind='lora', rank=0}", "adaptation.rank must be positive, got 0"),
        ("adaptation={kind='lora', size=8}", "adaptation.size must be left out, as it does not go with the other keys"),
        ("adaptation={kind='prompt', token=8}", "there is no setting 'adaptation.token'; did you mean 'tokens'?"),
        ("student.hidden_size=0", "student.hidden_size must be positive, got 0"),
        ("student.layers=[]", "student.layers must not be empty, got []"),
        ("student.layers=[-1]", "student.layers.0 must be at least 0, got -1"),
        ("distillation.temperature=-1", "distillation.temperature must be positive, got -1"),
        ("distillation.cosine=-1", "distillation.cosine must be at least 0, got -1"),
        (
            "distillation.layer_map=[0]",
            "distillation.layer_map must be left out where hidden_states and attentions",
        ),
        ("quantization.cosine=1", "there is no setting 'quantization.cosine'"),
        ("quantization.hard_weight=2", "quantization.hard_weight must be at most 1, got 2"),
        ("quantization.calibration_batches=0", "quantization.calibration_batches must be positive, got 0"),
        ("pruning.sparsity=1.5", "pruning.sparsity must be below 1, got 1.5"),
        ("pruning={pattern='2:4', sparsity=0.6}", "pruning.sparsity must be 0.5 with the pattern '2:4', got 0.6"),
        (
            "quantization={post_training=true, epochs=3}",
            "quantization.epochs must be left out where post_training is true, as nothing trains, got 3.0",
        ),
        (
            "quantization={post_training=true, hard_weight=0.1}",
            "quantization.hard_weight must be left out where post_training is true, as nothing trains, got 0.1",
        ),
        (
            "quantization={post_training=true, seed=3}",
            "quantization.seed must be left out where post_training is true, as nothing trains, got 3",
        ),
        ("export.lengths=[2]", "export.lengths.0 must be at least 3, got 2"),
        ("export.opset=3", "export.opset must be at least 14, got 3"),
        ("evaluation.min_score=200", "evaluation.min_score must be at most 100, got 200"),
        ("beam.workers=0", "beam.workers must be positive, got 0"),
    ],
)
def test_a_value_out_of_its_range(tmp_path: Path, override: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        load(tmp_path, CORPUS + EXAMPLES, override)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (
            ("fine_tuning.keep=last", "fine_tuning.patience=1"),
            "fine_tuning.patience must be left out where keep is 'last', got 1",
        ),
        (
            ("student.hidden_size=100", "student.num_heads=3"),
            "student.hidden_size must be a multiple of num_heads=3, got 100",
        ),
        (
            ("student.layers=[0]", "student.num_layers=1"),
            "student.num_layers must be left out beside layers=[0], got 1",
        ),
    ],
)
def test_values_that_do_not_go_together(tmp_path: Path, overrides: tuple[str, ...], message: str) -> None:
    with pytest.raises(InputError) as caught:
        load(tmp_path, CHECKPOINT + EXAMPLES, *overrides)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("value", ["inf", "-inf", "nan"])
def test_every_number_is_finite(tmp_path: Path, value: str) -> None:
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
    kinds["examples.label_precision"] = EXAMPLES + "task = 'multi_label'\n"
    for key in sorted(keys):
        table = kinds.get(key, kinds.get(key.split(".")[0], ""))
        is_range = key.startswith("tune.")
        place, text = (rf"{key}\.0", f"[{value}]") if is_range else (key, value)
        with pytest.raises(InputError, match=rf"^{place} must be a finite number, got {value}$"):
            load(tmp_path, f"[encoder]\n{shape}" + table, f"{key}={text}")
    with pytest.raises(InputError, match=rf"^fine_tuning.class_weights.yes must be a finite number, got {value}$"):
        load(tmp_path, CHECKPOINT + EXAMPLES, f"fine_tuning.class_weights.yes={value}")
    with pytest.raises(InputError, match=rf"beam.options.x must be a finite number, got {value}"):
        load(tmp_path, CORPUS, f"beam.options.x={value}")


def test_a_vocabulary_of_bytes_has_room_for_all_of_them(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^vocabulary\.size must be at least 261, got 260$"):
        load(tmp_path, CORPUS + EXAMPLES, "vocabulary.kind=bpe", "vocabulary.size=260")
    assert load(tmp_path, CORPUS + EXAMPLES, "vocabulary.kind=bpe", "vocabulary.size=261").vocabulary.kind == "bpe"


def test_a_long_text_by_attention_that_suits_it(tmp_path: Path) -> None:
    windows = "max_length = 8192\n" + CORPUS + "[encoder.variant]\nkind = 'longformer'\nwindows = [4, 8]\n"
    settings = load(tmp_path, windows)
    assert settings.encoder is not None
    assert (settings.max_length, settings.encoder.variant) == (8192, Longformer(windows=(4, 8)))
    blocks = CORPUS + "[encoder.variant]\nkind = 'bigbird'\nblock_size = 16\n"
    settings = load(tmp_path, blocks)
    assert settings.encoder is not None
    assert settings.encoder.variant == BigBird(block_size=16)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kind = 'longformer'\nwindow = 7", "encoder.variant.window must be a multiple of 2, got 7"),
        ("kind = 'longformer'\nwindows = [4]", "windows must hold one window for each of num_layers=2, got (4,)"),
        ("kind = 'bigbird'\nblock_size = 0", "encoder.variant.block_size must be positive, got 0"),
    ],
)
def test_windows_and_blocks_that_there_cannot_be(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError) as raised:
        load(tmp_path, CORPUS + "[encoder.variant]\n" + text)
    assert message in str(raised.value)
    assert len(str(raised.value).splitlines()) == 1
