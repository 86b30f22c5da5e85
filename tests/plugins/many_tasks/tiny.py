"""Small tasks on one encoder, and rows of them."""

from keras_bert.tasks.classification import Classification
from keras_bert.tasks.embedding import Embedding
from keras_bert.tasks.regression import Regression
from keras_bert.tasks.token_classification import TokenClassification
from plugins.many_tasks.task import ManyTasks
from tests.keras_bert.recipes.test_texts import QUICK, TEXTS, TOKENIZER
from tests.keras_bert.tasks.tiny import make_encoder

DATA = {
    "mood": (TEXTS, ["good" if "good" in text else "bad" for text in TEXTS]),
    "near": (TEXTS, TEXTS[::-1], [0.5] * len(TEXTS)),
    "stars": (TEXTS, [float(text.count("very")) for text in TEXTS]),
    "tags": ([text.split() for text in TEXTS], [["O", "O", "B-film"]] * len(TEXTS)),
}
FAST = {**QUICK, "epochs": 1, "learning_rate": 1e-2}


def make_tasks(*names, layers=1):
    """Tasks that can be joined, all or those with these names."""
    encoder = make_encoder(num_layers=layers)
    builders = {
        "mood": lambda: Classification.build(encoder, TOKENIZER, labels=["bad", "good"], max_length=8, pooling="mean"),
        "near": lambda: Embedding.build(encoder, TOKENIZER, max_length=8),
        "stars": lambda: Regression.build(encoder, TOKENIZER, max_length=8, pooling="cls"),
        "tags": lambda: TokenClassification.build(encoder, TOKENIZER, labels=["O", "B-film"], max_length=6),
    }
    return {name: builders[name]() for name in names or builders}


def make_many(*names, layers=1):
    """These tasks together."""
    return ManyTasks(make_tasks(*names, layers=layers))


def data_of(many):
    """The rows of the tasks."""
    return {name: DATA[name] for name in many.tasks}


def weights_of(model):
    """Copies of a model's weights."""
    return [weight.numpy() for weight in model.weights]
