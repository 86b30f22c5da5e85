import json

import keras
import numpy as np
import pytest

pytest.importorskip("tensorflow_text", reason="the tokenizer is TensorFlow's")
import keras_bert
from keras_bert.data.array_batches import ArrayBatches
from keras_bert.in_memory.fit import read_rows
from keras_bert.options.compression import Student
from keras_bert.tasks.registry import load
from keras_bert.tasks.regression import Regression
from keras_bert.tasks.reranking import Reranking
from keras_bert.tasks.retrieval import Retrieval
from tests.keras_bert.interop.checkpoints import GOLDEN, change_json, copy_golden
from tests.keras_bert.tasks.tiny import make_encoder, make_tokenizer

# Not in the order of queries; relevances are of any scale.
QUERIES = ["good", "bad", "Good ", "bad", "good", "very"]
PASSAGES = ["film", "film", "a a", "a a", ". .", "film"]
RELEVANCES = [-2.0, 0.0, 9.0, 5.0, 1.0, 1.0]


def build(**settings):
    return Reranking.build(make_encoder(num_layers=1), make_tokenizer(), max_length=30, pooling="mean", **settings)


def test_rows_of_a_query_stand_together_and_share_batches():
    task = build()
    inputs, labels = task.examples(QUERIES, PASSAGES, RELEVANCES)
    assert labels.tolist() == [[-2, 0], [9, 0], [1, 0], [0, 1], [5, 1], [1, 2]]
    np.testing.assert_array_equal(inputs["token_ids"][3], [*task.encode(["bad"], ["film"])["token_ids"][0], 0])
    rows = read_rows(task, (QUERIES, PASSAGES, RELEVANCES))
    for seed in range(3):
        sizes = [
            batch["list"].numpy() for batch in ArrayBatches("reranking", rows, 3, 16, shuffle=True, seed=seed).epoch()
        ]
        assert sorted(np.concatenate(sizes).tolist()) == [0, 0, 0, 1, 1, 2]
        assert all(np.isin(batch, [0]).sum() in (0, 3) for batch in sizes), "a list is in one batch"
        assert len(sizes) == 2, "lists of two rows on average: two of them have 3 rows, rounded"
    parts = [list(ArrayBatches("reranking", rows, 6, 16).epoch(shares=[share], of=2)) for share in (0, 1)]
    assert [[batch["list"].numpy().tolist() for batch in part] for part in parts] == [[[0, 0, 0, 2]], [[1, 1]]]


def test_orders_are_learnt():
    keras.utils.set_random_seed(0)
    trained = build(dropout=0.0)
    history = trained.fit(
        QUERIES, PASSAGES, RELEVANCES, epochs=25, batch_size=6, learning_rate=2e-2, xla="off", verbose=0
    )
    assert (history[-1]["accuracy"], trained.head()["standard_deviation"]) == (1, 1)
    ranked = trained.rank("good", ["film", "a a", ". ."])
    assert [(passage.text, passage.index) for passage in ranked] == [("a a", 1), (". .", 2), ("film", 0)]
    assert trained.rank("bad", ["film", "a a"], top_k=1) == [ranked_first(trained)]
    assert [field for (field,) in trained.answer_values(["good"], ["film"])] == trained.predict(["good"], ["film"])
    assert trained.rank("good", iter(["film", "a a", ". ."])) == ranked
    with pytest.raises(ValueError, match=r"^Reranking\.top_k must be at least 1, got 0$"):
        trained.rank("bad", ["film"], top_k=0)
    with pytest.raises(ValueError, match=r"^passages must be given, one for each query, got none$"):
        trained.answer_values(["good"])
    with pytest.raises(ValueError, match=r"^passages must be given"):
        trained.read_row(["good"])


def ranked_first(task):
    (first, _) = task.rank("bad", ["film", "a a"])
    assert (first.text, first.index) == ("a a", 1)
    return first


def test_a_student_needs_the_relevances():
    teacher = build()
    options = {"student": Student(num_heads=1), "steps": 1, "xla": "off", "verbose": 0}
    student = keras_bert.distill(teacher, QUERIES, PASSAGES, RELEVANCES, **options)
    assert type(student) is Reranking
    with pytest.raises(TypeError, match="missing 2 required positional arguments: 'passages' and 'relevances'"):
        keras_bert.distill(teacher, QUERIES, **options)
    with pytest.raises(ValueError, match=r"^RerankingObjective has no answers that could be given as an array$"):
        teacher.fit(QUERIES, PASSAGES, RELEVANCES, probabilities=RELEVANCES, epochs=1, verbose=0)
    with pytest.raises(ValueError, match=r"^relevances\[1\] must be .*finite.*, got nan$"):
        teacher.examples(["good", "bad"], ["a", "film"], [1.0, float("nan")])


def test_a_cross_encoder_with_one_label_is_a_re_ranker_where_it_is_asked_for(tmp_path):
    pytest.importorskip("tensorflow_text", reason="the tokenizer is TensorFlow's")
    from keras_bert.interop.hugging_face import from_hugging_face, to_hugging_face

    numbers = from_hugging_face(GOLDEN / "hugging_face_regression")
    reranker = from_hugging_face(GOLDEN / "hugging_face_regression", task="reranking", max_length=20)
    assert (type(reranker), reranker.max_length) == (Reranking, 20)
    pair = ["the film"], ["was good"]
    assert reranker.predict(*pair) == numbers.predict(*pair)
    to_hugging_face(reranker, tmp_path / "hf")
    content = (tmp_path / "hf" / "config.json").read_text()
    assert '"activation_fn": "torch.nn.modules.linear.Identity"' in content, (
        "a CrossEncoder gives the scores themselves"
    )
    assert from_hugging_face(tmp_path / "hf", task="reranking").predict(*pair) == reranker.predict(*pair)
    reranker.save(tmp_path / "task")
    loaded = load(tmp_path / "task")
    assert (type(loaded), loaded.predict(*pair)) == (Reranking, reranker.predict(*pair))
    # A retrieval has the vectors of an embedding, likewise.
    vectors = from_hugging_face(GOLDEN / "hugging_face_bert_model")
    retrieval = from_hugging_face(GOLDEN / "hugging_face_bert_model", task="retrieval")
    assert type(retrieval) is Retrieval
    np.testing.assert_array_equal(retrieval.predict(pair[0]), vectors.predict(pair[0]))


def test_a_default_prompt_of_a_cross_encoder_is_refused(tmp_path):
    from keras_bert.interop.hugging_face import from_hugging_face

    folder = copy_golden("hugging_face_regression", tmp_path)
    file, prompts = folder / "config_sentence_transformers.json", {"rank": "query: "}
    file.write_text(json.dumps({"model_type": "CrossEncoder", "prompts": prompts, "default_prompt_name": "rank"}))
    with pytest.raises(ValueError, match=r"must have no default prompt, .* got 'query: '; put it there"):
        from_hugging_face(folder)
    file.write_text(json.dumps({"model_type": "CrossEncoder", "prompts": prompts, "default_prompt_name": None}))
    assert from_hugging_face(folder).predict(["the film"], ["was good"])


SIGMOID, IDENTITY = (
    {"activation_fn": f"torch.nn.modules.{name}"} for name in ("activation.Sigmoid", "linear.Identity")
)
# `CrossEncoder(folder).predict(texts)` of sentence-transformers 6.2.0.
SCORES = [0.32800620794296265, 0.3431254029273987]
LOGITS = [-0.7172164916992188, -0.6493971347808838]


@pytest.mark.parametrize(
    ("config", "further", "expected"),
    [
        ({"sentence_transformers": SIGMOID}, {}, SCORES),
        ({"sbert_ce_default_activation_function": SIGMOID["activation_fn"]}, {}, SCORES),
        ({"sentence_transformers": IDENTITY}, SIGMOID, SCORES),
        (
            {"sentence_transformers": IDENTITY, "sbert_ce_default_activation_function": SIGMOID["activation_fn"]},
            {},
            LOGITS,
        ),
    ],
)
def test_scores_are_those_of_a_cross_encoder(config, further, expected, tmp_path):
    pytest.importorskip("tensorflow_text", reason="the tokenizer is TensorFlow's")
    from keras_bert.interop.hugging_face import from_hugging_face, to_hugging_face

    texts = ["the film", "a bad film"], ["was good", "very good"]
    folder = copy_golden("hugging_face_regression", tmp_path)
    change_json(folder / "config.json", **config)
    if further:
        (folder / "config_sentence_transformers.json").write_text(json.dumps(further))
    reranker = from_hugging_face(folder, max_length=20)
    np.testing.assert_allclose(reranker.predict(*texts), expected, atol=1e-6)
    is_sigmoid = expected is SCORES
    assert type(reranker) is (Reranking if is_sigmoid else Regression)
    to_hugging_face(reranker, tmp_path / "written")
    written = json.loads((tmp_path / "written" / "config.json").read_text())
    assert written["sentence_transformers"] == (SIGMOID if is_sigmoid else IDENTITY)
    if config == {"sentence_transformers": SIGMOID}:
        reranker.save(tmp_path / "task")
        for file in ("model.tflite", "model.onnx"):
            reranker.export(tmp_path / file)
        for place in ("written", "task", "model.tflite", "model.onnx"):
            loaded = (from_hugging_face if place == "written" else keras_bert.load)(tmp_path / place)
            np.testing.assert_allclose(loaded.predict(*texts), expected, atol=1e-5)
        (score,) = reranker.rank("the film", ["was good"])
        assert score.score == pytest.approx(expected[0], abs=1e-6)
        assert reranker.rebuilt(reranker.encoder).activation == "sigmoid", "as a student has it"
        with pytest.raises(ValueError, match=r"^Reranking\.activation must be one of .*'sigmoid'.*, got 'tanh'$"):
            build(activation="tanh")
