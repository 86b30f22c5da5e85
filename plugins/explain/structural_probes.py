"""Structural probes: dependency trees in the distances between states (Hewitt and Manning 2019)."""

import dataclasses
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from keras_bert.core.checks import FieldError, check
from keras_bert.tasks.base import Task, slices
from keras_bert.tasks.checks import as_sentences, check_same_length
from plugins.explain.states import word_states
from plugins.explain.tokens import Array
from plugins.explain.trees import attachment_score, distance_correlation, tree_distances

# The words of each sentence, and for each word the position of its head, from 1 (0 for the root).
Parsed = tuple[Sequence[Sequence[str]], Sequence[Sequence[int]]]

# More dimensions hardly helped Hewitt and Manning 2019 (section 5).
_RANK = 64
# As in the experiments of Hewitt and Manning 2019.
_SENTENCES_PER_STEP = 20
# Kingma and Ba 2015, algorithm 1.
_DECAYS, _EPSILON = (0.9, 0.999), 1e-8


@dataclasses.dataclass(frozen=True)
class StructuralProbes:
    """A structural probe on each layer of a model; the first layer is the embeddings.

    Attributes:
        layers: the probed layers; 0 is the embeddings.
        attachment_scores: share of the undirected edges of the test trees that are found ("UUAS"), float64 (layers,).
        correlations: Spearman's correlation of predicted distances with distances in the trees, over sentences of 5 to
            50 words ("DSpr."), float64 (layers,); NaN without such a sentence.
        chain_attachment_score: the attachment score of linking neighbouring words, a baseline without a model.
        chain_correlation: the correlation of distances in the sentence with distances in the trees.
        maps: the linear map B of each layer, float64 (layers, rank, hidden); the predicted distance of two states is
            the squared length of B times their difference.
        left_out: the numbers of training words and of test words that have no tokens and so no state.

    Examples:
        >>> from plugins.explain import structural_probe
        >>> rows = [["film", "films", "film"]], [[2, 0, 2]]
        >>> probes = structural_probe(task, rows, rows, epochs=2)
        >>> probes.layers, probes.maps.shape, probes.chain_attachment_score
        ((0, 1), (2, 8, 8), 1.0)
    """

    layers: tuple[int, ...]
    attachment_scores: Array
    correlations: Array
    chain_attachment_score: float
    chain_correlation: float
    maps: Array
    left_out: tuple[int, int]


def structural_probe(
    task: Task,
    train: Parsed,
    test: Parsed,
    *,
    layers: Sequence[int] | None = None,
    rank: int | None = None,
    epochs: int = 40,
    learning_rate: float = 0.001,
    seed: int = 0,
    batch_size: int = 32,
) -> StructuralProbes:
    """Fits linear maps of states such that squared distances between words match distances in the dependency tree.

    One map is trained per layer, with the model frozen (Hewitt and Manning 2019, section 3.1). A word has the state of
    its first token, see `word_states`.

    Args:
        task: a task with a Keras model of any family.
        train: the words of the training sentences, and the position of each word's head, from 1; 0 for the root.
        test: the words and heads of other sentences, on which the maps are evaluated.
        layers: the layers to probe, 0 for the embeddings; None for all.
        rank: output dimension of the map, at most that of a state; None for 64, or for the dimension of smaller states.
        epochs: number of passes over the training sentences.
        learning_rate: initial learning rate of Adam; it decays linearly to 0.
        seed: seed of the initial map and of the order of the sentences.
        batch_size: rows of a batch of the model.

    Raises:
        ValueError: there are no sentences, not as many heads as words, heads that are not a tree, no training
            sentence with two words, an unknown layer, or a setting out of range; or the model is an exported file.

    Examples:
        >>> rows = [["film", "films", "film"]], [[2, 0, 2]]
        >>> structural_probe(task, rows, rows, layers=[1], rank=2, epochs=2).maps.shape
        (1, 2, 8)
    """
    owner = "structural_probe"
    check(owner, "epochs", epochs >= 1, "be at least 1", epochs)
    check(owner, "learning_rate", learning_rate > 0, "be above 0", learning_rate)
    training = ParsedStates.of(task, "train", train, batch_size)
    held_out = ParsedStates.of(task, "test", test, batch_size)
    sizes = [len(tree) for tree in training.trees]
    check(owner, "train sentences", max(sizes) > 1, "hold a sentence with two words that have tokens", sizes)
    count, _, hidden = training.states[0].shape
    chosen = tuple(range(count)) if layers is None else tuple(layers)
    exist = bool(chosen) and set(chosen) <= set(range(count))
    check(owner, "layers", exist, f"be numbers from 0 to {count - 1}", list(chosen))
    rank = min(_RANK, hidden) if rank is None else rank
    check(owner, "rank", 1 <= rank <= hidden, f"be from 1 to the {hidden} dimensions of a state", rank)
    maps, predicted = [], []
    for layer in chosen:
        states = [states[layer] for states in training.states]
        options: dict[str, Any] = {"epochs": epochs, "learning_rate": learning_rate, "seed": seed}
        maps.append(fit_distances(states, training.trees, rank, **options))
        predicted.append([squared_distances(states[layer], maps[-1]) for states in held_out.states])
    chain = [np.abs(np.subtract.outer(*[np.arange(len(tree), dtype="float64")] * 2)) for tree in held_out.trees]
    return StructuralProbes(
        layers=chosen,
        attachment_scores=np.array([attachment_score(distances, held_out.trees) for distances in predicted]),
        correlations=np.array([distance_correlation(distances, held_out.trees) for distances in predicted]),
        chain_attachment_score=attachment_score(chain, held_out.trees),
        chain_correlation=distance_correlation(chain, held_out.trees),
        maps=np.stack(maps),
        left_out=(training.left_out, held_out.left_out),
    )


@dataclasses.dataclass(frozen=True)
class ParsedStates:
    """For each sentence, states (layers + 1, words, hidden) and numbers of edges between two words (words, words).

    Words without tokens are left out.
    """

    states: list[Array]
    trees: list[Array]
    left_out: int

    @classmethod
    def of(cls, task: Task, name: str, parsed: Parsed, batch_size: int = 32) -> Self:
        """Computes the states of sentences; `name` is the argument's name in errors."""
        sentences, distances = _parse(name, parsed)
        try:
            words = word_states(task, sentences, batch_size=batch_size)
        except FieldError as error:
            if error.field != "sentences":
                raise
            raise FieldError("structural_probe", f"{name} sentences", error.rule, error.value) from None
        states, trees, first = [], [], 0
        for number, tree in enumerate(distances):
            members = words.sentences == number
            places = words.words[members] - first
            states.append(words.states[:, members])
            trees.append(tree[np.ix_(places, places)])
            first += len(tree)
        return cls(states, trees, words.left_out)


def squared_distances(states: Array, matrix: Array) -> Array:
    """The squared lengths of the mapped differences of states: (words, hidden), (rank, hidden) -> (words, words)."""
    mapped = np.asarray(states, "float64") @ matrix.T
    return np.square(mapped[:, None] - mapped).sum(axis=-1)


def fit_distances(
    states: Sequence[Array],
    distances: Sequence[Array],
    rank: int,
    *,
    epochs: int = 40,
    learning_rate: float = 0.001,
    seed: int = 0,
) -> Array:
    """Fits the linear map (rank, hidden) whose squared distances are close to `distances`; a step reads 20 sentences.

    The loss of a sentence is the mean of the absolute differences over all pairs of its words (Hewitt and Manning 2019,
    section 3.1). During training the features are divided by their standard deviations; the returned map includes
    this scaling. The initial map is random and scaled to the right mean distance. States of a sentence are (words,
    hidden), its distances (words, words).
    """
    rng = np.random.default_rng(seed)
    deviations = np.concatenate(states).std(axis=0, dtype="float64")
    deviations = np.where(deviations > 0, deviations, 1)
    pairs = [(rows / deviations, targets) for rows, targets in zip(states, distances, strict=True) if len(rows) > 1]
    matrix = rng.normal(size=(rank, len(deviations)))
    means = np.mean([(squared_distances(rows, matrix).mean(), targets.mean()) for rows, targets in pairs], axis=0)
    matrix *= np.sqrt(means[1] / max(means[0], _EPSILON))
    batches = slices(len(pairs), _SENTENCES_PER_STEP)
    steps, moments, step = epochs * len(batches), [np.zeros_like(matrix)] * 2, 0
    for _ in range(epochs):
        order = rng.permutation(len(pairs))
        for batch in batches:
            gradients = [distance_loss(matrix, *pairs[sentence])[1] for sentence in order[batch]]
            gradient = np.mean(gradients, axis=0)
            rate, step = learning_rate * (1 - step / steps), step + 1
            moments = [
                decay * moment + (1 - decay) * power
                for decay, moment, power in zip(_DECAYS, moments, (gradient, gradient**2), strict=True)
            ]
            first, second = (moment / (1 - decay**step) for moment, decay in zip(moments, _DECAYS, strict=True))
            matrix = matrix - rate * first / (np.sqrt(second) + _EPSILON)
    return matrix / deviations


def distance_loss(matrix: Array, states: Array, distances: Array) -> tuple[float, Array]:
    """Returns the mean absolute error of the squared distances, and its gradient (rank, hidden)."""
    mapped = states @ matrix.T
    errors = np.square(mapped[:, None] - mapped).sum(axis=-1) - distances
    signs = np.sign(errors)
    # The sum over pairs of sign x difference x difference^T, by the Laplacian of the signs.
    laplacian = np.diag(signs.sum(axis=1)) - signs
    return float(np.abs(errors).mean()), 4 * (mapped.T @ laplacian @ states) / errors.size


def _parse(name: str, parsed: Parsed) -> tuple[list[list[str]], list[Array]]:
    """The sentences, and the distances between their words in the trees."""
    is_pair = isinstance(parsed, tuple) and len(parsed) == 2
    check("structural_probe", name, is_pair, "be a pair (sentences, heads)", type(parsed).__name__)
    sentences, heads = as_sentences(f"{name} sentences", parsed[0]), list(parsed[1])
    check_same_length(f"{name} sentences", sentences, f"{name} heads", heads)
    trees = []
    for row, (words, numbers) in enumerate(zip(sentences, heads, strict=True)):
        check_same_length(f"{name} sentences[{row}]", words, f"{name} heads[{row}]", numbers)
        try:
            trees.append(tree_distances(numbers))
        except ValueError as error:
            raise ValueError(f"{name} {str(error).replace('heads', f'heads[{row}]', 1)}") from None
    return sentences, trees
