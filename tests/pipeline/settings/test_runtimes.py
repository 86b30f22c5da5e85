"""What a runtime does not know is refused before anything trains."""

import contextlib
import itertools
import json

import pytest

from components.dsl.errors import InputError
from keras_bert.core.folders import TOKENIZER_FILE
from keras_bert.export.targets.registry import TARGETS
from pipeline.job.checks import check_data
from tests.keras_bert.interop.family_checkpoints import FAMILIES, make_checkpoint
from tests.pipeline.settings.texts import CHECKPOINT, CORPUS, EXAMPLES, load, write_data

ANSWERS = "[examples]\ntrain = 'rows.tsv'\ntask = 'question_answering'\n"
SHORT = "max_length = 16\n"
SQUAD = """{"data": [{"paragraphs": [{"context": "one two", "qas": [
    {"id": "1", "question": "what", "answers": [{"text": "one", "answer_start": 0}]}]}]}]}"""
BROKEN = ("[]", "{}", '{"lowercase": "yes"}', "[" * 100_000, "{")
NO_FLOAT16 = "'transformers_js' here: bigbird's graph chooses between two branches, which have no float16"


def export(*runtimes):
    return f"[export]\nruntimes = {['tflite', 'onnx', *runtimes]}\n"


def write_rows(folder):
    (folder / "rows.tsv").write_text("text\tlabel\n" + "one\ta\ntwo\tb\n" * 10)


def check(folder, text, refused):
    """Asserts that data and start of a job are taken, or refused for a reason."""
    rule = f"^export.runtimes must leave out {refused}$"
    with contextlib.nullcontext() if refused is None else pytest.raises(InputError, match=rule):
        check_data(load(folder, text))


@pytest.mark.parametrize(
    ("more", "got"),
    [("task = 'regression'\n", "regression"), ("second_text = 'other'\n", "classification of pairs")],
)
def test_mediapipe_knows_few_tasks(tmp_path, more, got):
    export = '[export]\nruntimes = ["tflite", "mediapipe"]\n'
    load(tmp_path, CHECKPOINT + EXAMPLES + export)
    rule = "leave out 'mediapipe' here: MediaPipe has classification of single texts and embedding"
    with pytest.raises(InputError, match=f"^export.runtimes must {rule}, got {got}$"):
        load(tmp_path, CHECKPOINT + EXAMPLES.replace("[examples]\n", f"[examples]\n{more}", 1) + export)


def test_a_file_that_takes_text_has_limits(tmp_path):
    export = '[export]\nruntimes = ["tflite", "tflite_text"]\n'
    load(tmp_path, CHECKPOINT + EXAMPLES + export + "[quantization]\n")
    with pytest.raises(InputError, match=r"'tflite_text' here: .*, got the recipe static_wi8_ai8$"):
        load(tmp_path, CHECKPOINT + EXAMPLES + export + "[quantization]\nrecipe = 'static_wi8_ai8'\n")
    tags = "[examples]\ntask = 'token_classification'\ntrain = 'train.conll'\ntest = 'train.conll'\n"
    assert "tflite_text" in load(tmp_path, CHECKPOINT + tags + export).export.runtimes


@pytest.mark.parametrize(
    ("family", "runtime", "refused"),
    [
        ("roberta", "tflite_text", "'tflite_text' here: .* make WordPiece tokens, got a bpe tokenizer"),
        ("roberta", "mediapipe", "'mediapipe' here: .* lowercased WordPiece tokens, got a bpe tokenizer"),
        ("distilbert", "mediapipe", "'mediapipe' here: .* passes segment_ids, got a model that takes none"),
        ("big_bird", "transformers_js", NO_FLOAT16),
    ],
)
def test_a_checkpoint_that_a_runtime_does_not_know(tmp_path, family, runtime, refused):
    write_rows(tmp_path)
    make_checkpoint(tmp_path / "bert", family, ["one", "two"])
    check(tmp_path, SHORT + CHECKPOINT + EXAMPLES, None)
    check(tmp_path, SHORT + CHECKPOINT + EXAMPLES + export(runtime), refused)


@pytest.mark.parametrize("family", FAMILIES)
def test_refuses_what_the_export_would_refuse(tmp_path, family):
    write_rows(tmp_path)
    task = make_checkpoint(tmp_path / "bert", family, ["one", "two"])
    for runtime, target in TARGETS.items():
        knows = does(lambda target=target: target.check(task), ValueError)
        text = SHORT + CHECKPOINT + EXAMPLES + f"[export]\nruntimes = {sorted({'tflite', 'onnx', runtime})}\n"
        assert does(lambda text=text: check_data(load(tmp_path, text)), InputError) == knows, runtime


def test_a_tokenizer_that_apps_could_not_have(tmp_path):
    write_rows(tmp_path)
    make_checkpoint(tmp_path / "bert", "albert", ["one", "two"])
    file = tmp_path / "bert" / TOKENIZER_FILE
    file.write_text(json.dumps({**json.loads(file.read_text()), "normalizer": {"type": "Nmt"}}))
    rule = "'tflite' here: the tokenizers for apps have no normalizer 'Nmt'; they have NFC, .*"
    check(tmp_path, SHORT + CHECKPOINT + EXAMPLES, rule)
    check(tmp_path, SHORT + CHECKPOINT + EXAMPLES + '[export]\nruntimes = ["onnx"]\n', None)


def does(look, refusal):
    try:
        look()
    except refusal:
        return False
    return True


def test_a_checkpoint_that_was_saved_here(tmp_path):
    write_rows(tmp_path)
    make_checkpoint(tmp_path / "theirs", "roberta", []).save(tmp_path / "bert")
    rule = "'tflite_text' here: .* make WordPiece tokens, got a bpe tokenizer"
    check(tmp_path, CHECKPOINT + EXAMPLES + export("tflite_text"), rule)
    (tmp_path / "bert" / TOKENIZER_FILE).write_text('{"lowercase": true}')
    check(tmp_path, CHECKPOINT + EXAMPLES + export("tflite_text", "mediapipe"), None)


# Of models in a file of our own the step that reads it knows.
@pytest.mark.parametrize(
    ("content", "is_copied"), [*itertools.product(BROKEN, (False, True)), ('{"model": {"type": ["BPE"]}}', False)]
)
def test_a_tokenizer_that_cannot_be_read_is_one_line(tmp_path, content, is_copied):
    write_data(tmp_path)
    check_data(load(tmp_path, CHECKPOINT + EXAMPLES))
    (tmp_path / "bert" / TOKENIZER_FILE).write_text(content)
    for name in ("model.keras", "task.json") if is_copied else ():
        (tmp_path / "bert" / name).touch()
    with pytest.raises(
        InputError, match=r"^(the checkpoint .*bert cannot be used: .+|checkpoint must hold readable .+)$"
    ):
        check_data(load(tmp_path, CHECKPOINT + EXAMPLES + export("tflite_text")))


@pytest.mark.parametrize(
    ("more", "runtime", "refused"),
    [
        ("", "mediapipe", None),
        ("[vocabulary]\nkind = 'unigram'\n", "tflite_text", "'tflite_text' here: .*, got a unigram tokenizer"),
        ("[vocabulary]\nlowercase = false\n", "mediapipe", "'mediapipe' here: .*, got a vocabulary with upper case"),
        ("[vocabulary]\nlowercase = false\n", "tflite_text", None),
        ("[encoder.variant]\nkind = 'bigbird'\n", "transformers_js", NO_FLOAT16),
    ],
)
def test_a_start_from_nothing_that_a_runtime_does_not_know(tmp_path, more, runtime, refused):
    write_data(tmp_path)
    check(tmp_path, CORPUS + more + EXAMPLES + export(runtime), refused)


def test_question_and_context_are_told_apart(tmp_path):
    write_data(tmp_path)
    (tmp_path / "rows.json").write_text(SQUAD)
    answers = ANSWERS.replace("tsv", "json")
    other = "[vocabulary]\nkind = 'unigram'\n"
    rule = "'transformers_js' here: .* question and context apart, for WordPiece alone, got a unigram tokenizer"
    check(tmp_path, CORPUS + other + answers + export("transformers_js"), rule)
    one_segment = CORPUS + "num_segments = 1\n" + other + answers + export("transformers_js")
    check(tmp_path, one_segment, None)
    check(tmp_path, CORPUS + answers + export("transformers_js"), None)


@pytest.mark.usefixtures("stand_in_accelerators")
@pytest.mark.parametrize(
    ("accelerators", "recipe", "reason"),
    [
        (["motor"], "mixed_wi8_ai8", r"an accelerator must be one of .*, got 'motor'; nearest: '.*'"),
        (["engine"], "static_wi8_ai16", "engine takes files of .*, got static_wi8_ai16"),
        (
            ["missing"],
            "mixed_wi8_ai8",
            "missing needs the Python package chip_compiler, which is not .*: pip .*",
        ),
    ],
)
def test_accelerators_are_checked_before_a_run(tmp_path, accelerators, recipe, reason):
    settings = f"[export]\naccelerators = {accelerators}\n[quantization]\nrecipe = '{recipe}'\n"
    with pytest.raises(InputError, match=f"^export.accelerators: {reason}$"):
        load(tmp_path, CHECKPOINT + EXAMPLES + settings)
