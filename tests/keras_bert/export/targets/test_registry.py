import pytest

from keras_bert.compress.quantization_parameters import QuantizationParameters
from keras_bert.export.targets.base import ModelTraits
from keras_bert.export.targets.registry import FILES, TARGETS
from keras_bert.options.export import list_runtimes

ANSWERS = "question_answering"


def test_each_runtime_of_the_settings_has_a_target_and_each_file_one_target():
    assert set(TARGETS) == set(list_runtimes())
    quantization = QuantizationParameters("mixed_wi8_ai8", {"tap": (0.0, 1.0)})
    files = [file.name for target in TARGETS.values() for file in target.files(quantization)]
    assert sorted(files) == sorted(file.name for file in FILES)


def test_float_and_int16_models_have_no_int8_files():
    numbers = [file.numbers for target in TARGETS.values() for file in target.files(None)]
    assert "static_int8" not in numbers
    assert TARGETS["tflite"].files(None)[0].numbers == "float32"
    for recipe, count in (("static_wi8_ai8", 1), ("static_wi8_ai16", 0)):
        files = TARGETS["transformers_js"].files(QuantizationParameters(recipe, {"tap": (-1.0, 1.0)}))
        assert [file.numbers for file in files].count("static_int8") == count


@pytest.mark.parametrize("name", TARGETS)
def test_a_target_that_knows_nothing_of_a_model_refuses_nothing(name, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda package: package)
    assert TARGETS[name].find_obstacle(ModelTraits()) is None


@pytest.mark.parametrize(
    ("name", "traits", "obstacle"),
    [
        ("mediapipe", ModelTraits(task="regression"), "got regression"),
        ("mediapipe", ModelTraits(task="classification", pairs=True), "got classification of pairs"),
        ("mediapipe", ModelTraits(task="multi_label", pairs=True), "got multi_label of pairs"),
        ("mediapipe", ModelTraits(task="multi_label", pairs=False), None),
        ("mediapipe", ModelTraits(task="embedding", pairs=True), None),
        ("mediapipe", ModelTraits(tokenizer="unigram"), "got a unigram tokenizer"),
        ("mediapipe", ModelTraits(tokenizer="wordpiece", lowercase=False), "got a vocabulary with upper case"),
        ("mediapipe", ModelTraits(has_segments=False), "got a model that takes none"),
        ("mediapipe", ModelTraits(labels=["a\nb"]), "got 'a\\nb'"),
        ("tflite_text", ModelTraits(tokenizer="bpe"), "got a bpe tokenizer"),
        ("tflite_text", ModelTraits(tokenizer="wordpiece"), "or without a split at Chinese characters"),
        ("tflite_text", ModelTraits(tokenizer="wordpiece", lowercase=False), None),
        ("tflite", ModelTraits(copy_obstacle="no normalizer 'Nmt'"), "no normalizer 'Nmt'"),
        ("tflite_text", ModelTraits(recipe="static_wi8_ai8"), "got the recipe static_wi8_ai8"),
        ("tflite_text", ModelTraits(recipe="mixed_wi8_ai8"), None),
        ("transformers_js", ModelTraits(variant="bigbird"), "which have no float16"),
        ("transformers_js", ModelTraits(ANSWERS, tokenizer="bpe", has_segments=True), "got a bpe tokenizer"),
        ("transformers_js", ModelTraits(ANSWERS, tokenizer="bpe", has_segments=False), None),
        ("transformers_js", ModelTraits("classification", tokenizer="bpe", has_segments=True), None),
    ],
)
def test_a_target_says_what_it_cannot_take(name, traits, obstacle):
    message = TARGETS[name].find_obstacle(traits)
    assert message is None if obstacle is None else message.endswith(obstacle)
