"""Late interaction: equal to PyLate (tests/golden/late_interaction.py), trained, saved, exported and searched."""

import json

import numpy as np
import pytest
import tensorflow as tf

import keras_bert
from components.artifacts.standard import Model, TaskExamples
from components.dsl.errors import InputError
from components.mine_hard_negatives import mine_hard_negatives
from components.training.model_folder import read_model
from components.training.scored_candidates import similarities
from keras_bert.core.config import EncoderConfig
from keras_bert.export.saved_model import check_saved_model, find_signatures
from keras_bert.families.deberta.settings import DeBERTa
from keras_bert.models.encoder import build_encoder
from keras_bert.options.fine_tuning import HardNegatives
from keras_bert.tokenizers.tokenizer import Tokenizer
from keras_bert.tokenizers.wordpiece_vocabulary import SPECIAL_TOKENS
from plugins.late_interaction.files import read_late_interaction
from plugins.late_interaction.task import LateInteraction
from plugins.late_interaction.tokens import compare_tokens
from tests.components import tuning_job
from tests.golden.late_interaction import HERE, PYLATE, TEXTS, write_original, write_pylate
from tests.keras_bert.interop.checkpoints import change_json
from tests.keras_bert.tasks.tiny import WORDS, make_encoder
from tests.model_files import write_file
from tests.pipeline.command_line import refused
from tests.pipeline.settings.texts import CHECKPOINT, load
from tests.pipeline.settings.texts import QUERIES as QUERIES_TABLE

pytestmark = pytest.mark.usefixtures("eager")

ANSWERS = json.loads((HERE / "answers.json").read_text())
TOKENIZER = Tokenizer([*SPECIAL_TOKENS, *WORDS], lowercase=True)
QUERIES = [f"{first} {second}" for first in WORDS[:4] for second in WORDS[:4] if first != second]
PASSAGES = [f"{text.split()[1]} film {text.split()[0]} ." for text in QUERIES]
SIDES = {"query": QUERIES, "passage": PASSAGES}
QUICK = {"batch_size": 12, "xla": "off", "precision": "float32", "verbose": 0, "seed": 3}
RULES = {"query_prefix": "[x]", "query_length": 6, "skiplist_words": ["."]}
LAYERS = [{"units": 8, "activation": "none", "use_bias": False}]


def late(**settings):
    given = {"max_length": 8, "projections": LAYERS, "rules": RULES, **settings}
    return LateInteraction.build(make_encoder(), TOKENIZER, **given)


def assert_all_close(vectors, expected, atol=1e-5):
    assert [len(rows) for rows in vectors] == [len(rows) for rows in expected]
    for rows, values in zip(vectors, expected, strict=True):
        np.testing.assert_allclose(rows, values, atol=atol)


@pytest.mark.parametrize("name", [*PYLATE, "original"])
def test_vectors_and_scores_are_those_of_pylate(name, tmp_path):
    folder = tmp_path / name
    task = read_late_interaction(
        str(write_original(folder) if name == "original" else write_pylate(folder, **PYLATE[name]))
    )
    expected = ANSWERS[name]
    tasks = [task]
    if name in ("pylate", "plain"):
        task.save(tmp_path / "saved")
        tasks.append(keras_bert.load(tmp_path / "saved"))
        for file in ("model.tflite", "model.onnx"):
            task.export(tmp_path / file)
            tasks.append(keras_bert.load(tmp_path / file))
    for other in tasks:
        assert other.settings() == task.settings()
        sides = {prompt: other.predict(TEXTS, prompt=prompt) for prompt in ("query", "passage")}
        for prompt, vectors in sides.items():
            assert_all_close(vectors, expected[prompt])
        np.testing.assert_allclose(other.compare(*sides.values()), expected["scores"], atol=1e-5)
    assert_all_close(task.predict(TEXTS, prompt="passage", pool_factor=2), expected["pooled"])


def test_training_finds_passages_and_a_student_keeps_rules_and_layers():
    task = late()
    before = np.diag(task.compare(*(task.predict(side, prompt=name) for name, side in SIDES.items()))).mean()
    history = keras_bert.fit(task, QUERIES, PASSAGES, epochs=20, learning_rate=1e-2, **QUICK)
    assert history[-1]["loss"] < 0.8 * history[0]["loss"]
    vectors = {name: task.predict(side, prompt=name) for name, side in SIDES.items()}
    scores = task.compare(*vectors.values())
    assert np.mean(scores.argmax(axis=1) == np.arange(len(QUERIES))) > 0.5, before
    student = keras_bert.distill(task, QUERIES, PASSAGES, layers=[0, 1], steps=1, **{**QUICK, "learning_rate": 1e-9})
    assert (student.settings(), student.head()) == (task.settings(), task.head())
    assert_all_close(student.predict(PASSAGES, prompt="passage"), vectors["passage"], atol=1e-4)


def test_loss_compares_the_tokens_that_answers_compare():
    task = late(rules={**RULES, "document_prefix": "very"})
    rows, objective = task.training_rows(QUERIES, PASSAGES), task.objective()
    queries, passages = (task.predict(side, prompt=name) for name, side in SIDES.items())
    outputs = objective.run(task.network(), rows, training=False)
    scores = objective.similarities(outputs[: len(QUERIES)], outputs[len(QUERIES) :])
    np.testing.assert_allclose(scores, compare_tokens(queries, passages), atol=1e-4)


def test_refuses_to_train_on_texts_alone():
    """The shapes of one vector a text did not fit, or were spread over the tokens of as many texts."""
    for train in (keras_bert.quantize, keras_bert.prune):
        with pytest.raises(
            ValueError, match=r"LateInteraction.data must hold second texts, as a text has many vectors"
        ):
            train(late(), PASSAGES, **{**QUICK, "batch_size": 8})


def test_answers_and_search():
    task = late(prompts={"passage": "very "})
    queries, passages = (task.predict(side, prompt=name) for name, side in SIDES.items())
    assert {len(vectors) for vectors in queries} == {RULES["query_length"]}
    scores = task.compare(queries, passages)
    np.testing.assert_allclose([score for (score,) in task.answer_values(QUERIES, PASSAGES)], np.diag(scores), 1e-5)
    for vectors in (None, passages):
        ((best, second),) = task.search(QUERIES[:1], PASSAGES, top_k=2, vectors=vectors)
        assert (best.similarity, best.index) == (pytest.approx(scores[0].max(), abs=1e-4), scores[0].argmax())
        assert best.similarity >= second.similarity
    lines = [json.loads(line) for (line,) in task.answer_fields(QUERIES[:1])]
    np.testing.assert_allclose(lines, queries[0], atol=1e-6)


def test_other_tasks_keep_the_dense_layers_of_an_encoder():
    task = late()
    again = LateInteraction.build(task.encoder, TOKENIZER, max_length=8)
    assert (again.settings(), again.head()) == (task.settings(), task.head())
    assert_all_close(again.predict(QUERIES, prompt="query"), task.predict(QUERIES, prompt="query"))
    other = keras_bert.TASKS["embedding"].build(task.encoder, TOKENIZER, max_length=8)
    assert other.predict(QUERIES).shape == (len(QUERIES), 8)


def test_refuses_settings_that_late_interaction_cannot_have():
    for settings, message in (
        ({"rules": {"query_prefix": "[Q] "}}, r"rules.query_prefix must be a token of the vocabulary, got '\[Q\] '"),
        ({"rules": {"query_length": 99}}, r"rules.query_length must be 4 to 40, got 99"),
        ({"rules": {"query_size": 8}}, "query_size"),
        ({"contrast": {"dimensions": [4]}}, r"contrast.dimensions must be left out for vectors of tokens, got \(4,\)"),
        ({"normalize": False}, "normalize must be True, as in the model's graph, got False"),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            late(**settings)
    with pytest.raises(ValueError, match="LateInteraction has vectors of"):
        late().truncated(4)
    sizes = {"num_layers": 1, "hidden_size": 16, "num_heads": 2, "intermediate_size": 16, "vocabulary_size": 12}
    encoder = build_encoder(EncoderConfig(**sizes, max_length=40, num_segments=0, variant=DeBERTa()))
    with pytest.raises(ValueError, match=r"model.variant must be None or modernbert where rules.attend_to_expansion"):
        LateInteraction.build(encoder, TOKENIZER, max_length=8)
    attending = LateInteraction.build(encoder, TOKENIZER, max_length=8, rules={"do_query_expansion": False})
    assert attending.predict(QUERIES[:1], prompt="query")[0].shape[1] == 128


def test_refuses_folders_without_dense_layers(tmp_path):
    folder = write_pylate(tmp_path / "pylate")
    change_json(folder / "1_Dense" / "config.json", use_residual=True)
    with pytest.raises(ValueError, match="use_residual must be False, got True, which is not supported"):
        read_late_interaction(str(folder))
    modules = json.loads((folder / "modules.json").read_text())
    (folder / "modules.json").write_text(json.dumps(modules[:1]))
    with pytest.raises(ValueError, match=r"must list a Transformer and Dense modules, .* got \['Transformer'\]"):
        read_late_interaction(str(folder))
    (folder / "modules.json").unlink()
    with pytest.raises(ValueError, match=r"must hold the modules of PyLate or a tensor linear.weight"):
        read_late_interaction(str(folder))


def test_states_that_queries_and_passages_do_not_share_are_refused_before_any_step(tmp_path):
    text = f"distillation.hidden_states = 1.0\nstudent.num_layers = 1\n{CHECKPOINT}{QUERIES_TABLE}"
    load(tmp_path, text.replace("retrieval", "sparse"))
    with pytest.raises(
        InputError, match=r"^distillation.hidden_states must be 0 for the task 'late_interaction', got 1.0"
    ):
        load(tmp_path, text.replace("retrieval", "late_interaction"))


@pytest.mark.parametrize("task", ["late_interaction", "sparse"])
@pytest.mark.parametrize("table", ["hard_negatives = {}", "normalize = true", "page = {}", "export.dimension = 4"])
def test_refuses_tables_of_one_vector_a_text(task, table, tmp_path):
    text = f"{table}\n{CHECKPOINT}{QUERIES_TABLE.replace('retrieval', task)}"
    with pytest.raises(InputError, match=f"^{table.split()[0]} is only allowed for .*retrieval.*, got"):
        load(tmp_path, text)


def test_scores_of_candidates_are_those_of_the_task():
    task = late()
    first, second = QUERIES[:2]
    scores = similarities(task, 2.0)([first, first, second], PASSAGES[:3])
    expected = [value for (value,) in task.answer_values([first, first, second], PASSAGES[:3])]
    np.testing.assert_allclose(scores, 2 * np.array(expected), atol=1e-5)


def test_a_saved_model_takes_ids_and_answers_as_the_task(tmp_path):
    tf.config.run_functions_eagerly(False)  # a graph that is saved eagerly has operations that no model may have
    task = late(prompts={"query": "very "})
    file = write_file(task, tmp_path / "saved_model.pb", [8])
    assert find_signatures(task) == {}
    assert check_saved_model(task, file, QUERIES) == 0.0
    loaded = keras_bert.load(file)
    for prompt, texts in SIDES.items():
        assert_all_close(loaded.predict(texts, prompt=prompt), task.predict(texts, prompt=prompt))


@pytest.mark.parametrize(
    ("runtime", "task", "reason"),
    [
        ("tflite_text", "late_interaction", "the file makes rows without the tokens that late_interaction adds"),
        ("transformers_js", "late_interaction", "other libraries have, which late_interaction is not"),
        ("transformers_js", "sparse", "other libraries have, which sparse is not"),
    ],
)
def test_files_that_could_not_answer_are_refused_before_any_step(runtime, task, reason, tmp_path):
    if task != "late_interaction":
        pytest.importorskip(f"plugins.{task}")
    text = f"export.runtimes = ['tflite', 'onnx', '{runtime}']\n{CHECKPOINT}{QUERIES_TABLE}"
    assert runtime in load(tmp_path, text).export.runtimes
    with pytest.raises(InputError, match=rf"^export.runtimes must leave out '{runtime}' here: .*{reason}"):
        load(tmp_path, text.replace("retrieval", task))


def test_refuses_to_explain_a_job_before_any_step(tmp_path, capfd):
    pytest.importorskip("plugins.explain", reason="the command is of another plug-in")
    tuning_job.write_checkpoint(tmp_path)
    tuning_job.write_rows(tmp_path, "retrieval")
    text = f"max_length = 16\n[checkpoint]\npath = '{tmp_path}/model'\n[examples]\ntrain = '{tmp_path}/queries.jsonl'\n"
    (tmp_path / "job.toml").write_text(f"{text}task = 'late_interaction'\n")
    line = refused(capfd, "explain", tmp_path / "job.toml", "--root", tmp_path / "root")
    rule = "be one that can be explained, got 'late_interaction': LateInteraction has no number of one text"
    assert line == f"examples.task must {rule} that can be explained"


def test_hard_negatives_are_mined_with_vectors_of_texts(checkpoint, tmp_path):
    line = tuning_job.Line("retrieval", checkpoint, tmp_path)
    start, mined = Model(tmp_path / "start"), TaskExamples(tmp_path / "mined")
    base = read_model(line.pretrained)
    LateInteraction.build(base.encoder, base.tokenizer, max_length=16).save(start.path)
    start.seal({})
    options = HardNegatives(count=1, margin=0.0)
    mine_hard_negatives.run(model=start, examples=line.examples, mined=mined, hard_negatives=options, pooling="mean")
    assert mined.counts["mined"] > 0
