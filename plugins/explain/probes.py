"""Linear probes: what the states of each layer tell about the words."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from keras_bert.core.checks import check
from keras_bert.tasks.base import Task
from keras_bert.tasks.checks import as_sentences, check_same_length
from plugins.explain.states import word_states
from plugins.explain.tokens import Array

_MOST_STEPS = 500


# The words of sentences, and the tag of each word.
Tagged = tuple[Sequence[Sequence[str]], Sequence[Sequence[str]]]


@dataclasses.dataclass(frozen=True)
class ScalarMix:
    """A linear classifier on a weighted mean of the states of all layers.

    Attributes:
        weights: the weight of each layer, the embeddings first, float64 (layers + 1,); they sum to 1.

    Examples:
        >>> mix = ScalarMix(np.array([0.5, 0.0, 0.5]), np.eye(2), np.zeros(2))
        >>> mix.center_of_gravity, mix.predict(np.array([[[4.0, 1.0]], [[9.0, 0.0]], [[-2.0, 5.0]]])).tolist()
        (1.0, [1])
    """

    weights: Array
    kernel: Array
    bias: Array

    @property
    def center_of_gravity(self) -> float:
        """The mean number of the layer, 0 for the embeddings, by the weights (Tenney et al. 2019, section 3)."""
        return float(self.weights @ np.arange(len(self.weights)))

    def predict(self, states: Array) -> Array:
        """The number of the most probable tag (words,) for states (layers + 1, words, hidden)."""
        return (np.tensordot(self.weights, states, axes=1) @ self.kernel + self.bias).argmax(axis=1)


@dataclasses.dataclass(frozen=True)
class Probes:
    """A linear probe on each layer of a model, and one on all layers; the first layer is the embeddings.

    Attributes:
        accuracy: the share of words of the test sentences with the right tag, float64 (layers + 1,).
        control_accuracy: the same with a random tag for each word, which a probe can only learn by heart (layers + 1,).
        majority_accuracy: the share of the tag that is most frequent in training.
        mix: the classifier on a mean of all layers with learned weights.
        left_out: the number of training words and of test words without tokens, which have no state.

    Examples:
        >>> from plugins.explain import probe
        >>> rows = [["film", "films"]], [["N", "V"]]
        >>> probes = probe(task, rows, rows)
        >>> probes.accuracy.tolist(), probes.majority_accuracy
        ([1.0, 1.0], 0.5)
    """

    tags: tuple[str, ...]
    accuracy: Array
    control_accuracy: Array
    majority_accuracy: float
    mix: ScalarMix
    mix_accuracy: float
    left_out: tuple[int, int]

    @property
    def selectivity(self) -> Array:
        """The accuracy minus the accuracy of the control task (layers + 1,) (Hewitt and Liang 2019, section 2).

        A probe that is right because it remembers words has little of it.
        """
        return self.accuracy - self.control_accuracy


def probe(task: Task, train: Tagged, test: Tagged, *, seed: int = 0, batch_size: int = 32) -> Probes:
    """Trains linear classifiers of words on the states of each layer of a model, which itself does not change.

    A word has the state of its first token, see `word_states`. Each feature has mean 0 and deviation 1 over the
    training words, so that layers can be compared; the classifier is scikit-learn's `LogisticRegression` with its
    defaults. The control task gives each different word a random tag, drawn as often as tags occur in training (Hewitt
    and Liang 2019, section 2). The weights of the mean over layers tell where the tags are encoded (Tenney et al.
    2019, section 3).

    Args:
        task: a task with a Keras model of any family.
        train: the words of the training sentences, and the tag of each word: any strings.
        test: the words and tags of other sentences, by which the probes are measured.
        seed: the seed of the control task.
        batch_size: rows of a batch.

    Raises:
        ValueError: there are no sentences, not as many tags as words, only one tag to learn, or a test tag that no
            training word has; or the task's model is an exported file.

    Examples:
        >>> rows = [["film", "films"]], [["N", "V"]]
        >>> probe(task, rows, rows).mix.weights.shape  # embeddings and one layer
        (2,)
        >>> probe(task, rows, ([["film"]], [["X"]]))
        Traceback (most recent call last):
        ...
        keras_bert.core.checks.FieldError: probe.test tags must be among the training tags ['N', 'V']; ... got ['X']
    """
    parts, left_out = [], []
    for name, tagged in (("train", train), ("test", test)):
        is_pair = isinstance(tagged, tuple) and len(tagged) == 2
        check("probe", name, is_pair, "be a pair (sentences, tags)", type(tagged))
        sentences, marks = as_sentences(f"{name} sentences", tagged[0]), as_sentences(f"{name} tags", tagged[1])
        check_same_length(f"{name} sentences", sentences, f"{name} tags", marks)
        for row, (row_words, row_tags) in enumerate(zip(sentences, marks, strict=True)):
            check_same_length(f"{name} sentences[{row}]", row_words, f"{name} tags[{row}]", row_tags)
        flat = (np.array([item for row in rows for item in row], object) for rows in (sentences, marks))
        words, tags = (items.astype(str) for items in flat)
        states = word_states(task, sentences, batch_size=batch_size)
        parts.append(ProbedWords(states.states, words[states.words], tags[states.words]))
        left_out.append(states.left_out)
    return fit_probes(*parts, seed=seed, left_out=(left_out[0], left_out[1]))


@dataclasses.dataclass(frozen=True)
class ProbedWords:
    """Words with their states (layers + 1, words, hidden) and tags."""

    states: Array
    words: Array
    tags: Array


def fit_probes(train: ProbedWords, test: ProbedWords, *, seed: int = 0, left_out: tuple[int, int] = (0, 0)) -> Probes:
    """The probes of words with given states, see `probe`."""
    from sklearn.preprocessing import StandardScaler

    tags, numbers = np.unique(train.tags, return_inverse=True)
    rule = "be of at least two kinds, else there is nothing to learn; add sentences"
    check("probe", "train tags", len(tags) > 1, rule, tags.tolist())
    unknown = np.setdiff1d(test.tags, tags)
    rule = f"be among the training tags {tags.tolist()}; move sentences with the others to the training sentences"
    check("probe", "test tags", not len(unknown), rule, unknown.tolist())
    test_numbers = np.searchsorted(tags, test.tags)
    controls = _control_tags(train, test, numbers, seed)
    # Features with mean 0 and deviation 1 over the training words; a constant one stays 0.
    scalers = [StandardScaler().fit(states) for states in train.states]
    layers, test_layers = (
        [scaler.transform(states) for scaler, states in zip(scalers, words.states, strict=True)]
        for words in (train, test)
    )
    mix = fit_scalar_mix(np.stack(layers), numbers, len(tags))
    return Probes(
        tags=tuple(str(tag) for tag in tags),
        accuracy=_accuracies(layers, numbers, test_layers, test_numbers),
        control_accuracy=_accuracies(layers, controls[0], test_layers, controls[1]),
        majority_accuracy=float(np.mean(test_numbers == np.bincount(numbers).argmax())),
        mix=mix,
        mix_accuracy=float(np.mean(mix.predict(np.stack(test_layers)) == test_numbers)),
        left_out=left_out,
    )


def _control_tags(train: ProbedWords, test: ProbedWords, numbers: Array, seed: int) -> tuple[Array, Array]:
    """A random tag for each different word, of the training words and of the test words."""
    kinds, places = np.unique(np.concatenate([train.words, test.words]), return_inverse=True)
    shares = np.bincount(numbers) / len(numbers)
    drawn = np.random.default_rng(seed).choice(len(shares), len(kinds), p=shares)[places]
    return drawn[: len(numbers)], drawn[len(numbers) :]


def _accuracies(layers: Any, numbers: Array, test_layers: Any, test_numbers: Array) -> Array:
    """The accuracy of a probe on each layer (layers + 1,)."""
    from sklearn.linear_model import LogisticRegression

    if len(np.unique(numbers)) == 1:  # of few different words, all may have the same control tag
        return np.full(len(layers), np.mean(test_numbers == numbers[0]))
    probes = (LogisticRegression(max_iter=1000).fit(states, numbers) for states in layers)
    return np.array([fitted.score(states, test_numbers) for fitted, states in zip(probes, test_layers, strict=True)])


def fit_scalar_mix(states: Array, tags: Array, count: int) -> ScalarMix:
    """Trains a classifier together with the weights of the layers, a softmax of one number each.

    The weights begin alike. Tenney et al. 2019, section 3, have a further factor of all layers, which the kernel of a
    linear classifier contains. The loss is that of scikit-learn's `LogisticRegression`, so that a single layer gives
    its classifier: the sum of the cross-entropies plus half of the sum of the squares of the kernel. The squares of the
    layers' numbers are added likewise: without them, the layer that is best by little would get all of the weight.
    States (layers + 1, words, hidden) have the same units in all layers.
    """
    from scipy.optimize import minimize

    layers, _, hidden = states.shape
    start = np.zeros(layers + hidden * count + count)
    loss = mix_loss(states, tags, count)
    solution = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": _MOST_STEPS, "gtol": 1e-5})
    return ScalarMix(*_split(solution.x, layers, hidden, count))


def mix_loss(states: Array, tags: Array, count: int) -> Callable[[Array], tuple[float, Array]]:
    """The loss of a word, and its gradient, as a function of all parameters in a row: layers, kernel, bias."""
    from scipy.special import log_softmax

    layers, words, hidden = states.shape
    is_tag = np.eye(count)[tags]
    # Float32 states stay float32: copies of all layers in float64 would take most of the time.
    states = np.asarray(states, np.result_type(states, "float32"))

    def measure(parameters: Array) -> tuple[float, Array]:
        weights, kernel, bias = _split(parameters, layers, hidden, count)
        mixed = np.tensordot(weights.astype(states.dtype), states, axes=1)
        logs = log_softmax(mixed @ kernel + bias, axis=1)
        squares = np.square(kernel).sum() + np.square(parameters[:layers]).sum()
        loss = (-logs[is_tag > 0].sum() + squares / 2) / words
        slopes = (np.exp(logs) - is_tag) / words
        by_layer = np.tensordot(states, (slopes @ kernel.T).astype(states.dtype), axes=2)
        by_score = weights * (by_layer - weights @ by_layer) + parameters[:layers] / words
        gradients = by_score, mixed.T @ slopes + kernel / words, slopes.sum(axis=0)
        return float(loss), np.concatenate([np.ravel(gradient) for gradient in gradients])

    return measure


def _split(parameters: Array, layers: int, hidden: int, count: int) -> tuple[Any, Any, Any]:
    """The weights of the layers, the kernel and the bias."""
    from scipy.special import softmax

    scores, kernel, bias = np.split(parameters, [layers, layers + hidden * count])
    return softmax(scores), kernel.reshape(hidden, count), bias
