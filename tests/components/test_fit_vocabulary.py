"""A start without the pieces that the rows do not need."""

import numpy as np
import pytest

from components.artifacts.standard import Model, TaskExamples, Vocabulary
from components.dsl.errors import InputError
from components.fit_vocabulary import fit_vocabulary
from components.sources.table import TableSource
from components.training.model_folder import read_model
from keras_bert.compress.vocabulary import reduce_vocabulary
from keras_bert.data.records import read_features
from keras_bert.tasks.classification import Classification
from keras_bert.tokenizers.loading import load_tokenizer
from tests.components import tuning_job
from tests.components.labelled_rows import ingest_source


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    """A checkpoint, and rows of three animals only in training; validation knows further words."""
    folder = tmp_path_factory.mktemp("start")
    tuning_job.write_checkpoint(folder)
    for split, words in (("train", "cow hen owl"), ("dev", "cow hen owl elm"), ("test", "oak fir")):
        lines = "".join(f"{word} {word}\t{word in tuning_job.ANIMALS}\n" for word in words.split()) * 4
        (folder / f"{split}.tsv").write_text(f"text\tlabel\n{lines}cow\tTrue\noak\tFalse\n")
    return folder


def fit(start, folder, **settings):
    examples = TaskExamples(folder / "examples")
    source = TableSource(str(start / "train.tsv"), str(start / "dev.tsv"), str(start / "test.tsv"))
    ingest_source(examples, Vocabulary(start / "vocabulary"), source, max_length=8)
    model, vocabulary = Model(folder / "fitted"), Vocabulary(folder / "pieces")
    for made in (model, vocabulary):
        made.path.mkdir()
    fit_vocabulary.run(
        pretrained=Model(start / "model"), examples=examples, model=model, vocabulary=vocabulary, **settings
    )
    again = TaskExamples(folder / "again")
    ingest_source(again, vocabulary, source, max_length=8)
    assert read_features(again.path)["counts"] == read_features(examples.path)["counts"]
    return model, vocabulary


def test_pieces_of_training_rows_stay(start, tmp_path):
    model, vocabulary = fit(start, tmp_path)
    tokenizer = load_tokenizer(vocabulary.path)
    assert set(tokenizer.vocabulary[5:]) == {"cow", "hen", "owl", "oak", "?"}
    # In validation 4 x 2 words of each of four kinds, of which elm is gone, and two more.
    assert vocabulary.counts == {"entries": 10, "kept_share_train": 1.0, "kept_share_validation": 0.7647}
    fitted, whole = read_model(model), read_model(Model(start / "model"))
    texts = ["cow hen", "owl"]
    np.testing.assert_allclose(fitted.predict(texts), whole.predict(texts), atol=1e-6)
    assert model.counts["parameters"] == whole.model.count_params() - 8 * 16
    assert fitted.tokenizer.vocabulary == tokenizer.vocabulary


def test_a_trained_task_keeps_its_head(start, tmp_path):
    plain = read_model(Model(start / "model"))
    whole = Classification.build(plain.encoder, plain.tokenizer, labels=["a", "b"], max_length=8)
    fewer = reduce_vocabulary(whole, [*range(8), whole.tokenizer.vocabulary_size - 1])
    texts = ["cow hen", "owl"]
    np.testing.assert_allclose(
        [answer.probability for answer in fewer.predict(texts)],
        [answer.probability for answer in whole.predict(texts)],
        atol=1e-6,
    )
    assert fewer.settings() == whole.settings()


def test_a_size_and_a_least_count(start, tmp_path):
    for name, settings, kept in (
        ("few", {"size": 8}, {"cow", "?"} | {"hen"}),
        ("often", {"min_count": 9}, {"cow", "?"}),
        ("filled", {"size": 12}, {"cow", "hen", "owl", "oak", "fox", "fir", "?"}),
    ):
        (tmp_path / name).mkdir()
        _, vocabulary = fit(start, tmp_path / name, **settings)
        assert set(load_tokenizer(vocabulary.path).vocabulary[5:]) == kept


def test_a_size_without_room_for_the_characters(start, tmp_path):
    with pytest.raises(InputError, match=r"^fitted_vocabulary.size must be at least 6 for these texts, got 5$"):
        fit(start, tmp_path, size=5)
