"""Time and memory of long inputs: BERT's full attention, Longformer's windows and BigBird's blocks.

    python -m benchmarks.long_input [--transformers-python PATH] [--lengths 512 1024 2048 4096 8192]

PATH is an interpreter with torch and transformers, whose models of the same shape are measured for comparison. The
input is one row of random tokens without padding, the model has the masked-token head, in float32. Measured are a
forward pass, and a training step with dropout 0.1 and AdamW. Each kind of attention has its own process, which measures
one length after the other, the shortest first. Memory is the peak of the process, with its libraries. Our model scores
20 masked tokens, transformers' all tokens. After a failure, as from too little memory (`--memory`), a process gets no
longer inputs.
"""

import argparse
import os
import resource
import sys
from pathlib import Path

from benchmarks.harness.contestants import Contestant, answer, questions
from benchmarks.harness.long_shapes import BLOCK, FAMILIES, HIDDEN, LAYERS, LENGTHS, VOCABULARY, WINDOW, settings_of
from benchmarks.harness.masked_batches import make_batch
from benchmarks.harness.memory_peaks import measure


def main() -> None:
    """Prints a table; with `--serve`, answers the process that prints it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--transformers-python", help="without it, only our models are measured")
    parser.add_argument("--compile", action="store_true", help="time torch.compile, which takes long, too")
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=FAMILIES)
    parser.add_argument("--lengths", nargs="+", type=int, default=LENGTHS)
    parser.add_argument("--seconds", type=float, default=0.5, help="how long each call is repeated, at least")
    parser.add_argument("--threads", type=int, help="of each process; without it as many as there are cores")
    parser.add_argument("--memory", type=float, default=12.0, help="GB that a process may take")
    parser.add_argument("--serve", metavar="FAMILY", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve, options.seconds)
        return
    if options.threads:
        # On a busy machine, PyTorch's threads wait for each other far longer than they compute.
        threads = str(options.threads)
        os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS"), threads)
    most = int(options.memory * 1e9)
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    print(f"{LAYERS} layers of {HIDDEN}, window {WINDOW}, blocks of {BLOCK}, 1 row, {VOCABULARY} pieces\n")
    print("| attention | library | tokens | forward, ms | MB | step, ms | MB |\n|---|---|---:|---:|---:|---:|---:|")
    for family in options.families:
        race(family, options)


def race(family: str, options: argparse.Namespace) -> None:
    """Prints the lines of one kind of attention."""
    seconds = ["--seconds", str(options.seconds)]
    interpreters = {"ours": (sys.executable, ["benchmarks.long_input", "--serve", family])}
    if options.transformers_python:
        peer = ["benchmarks.peers.transformers_long_input", family]
        interpreters["transformers"] = (options.transformers_python, peer)
        if options.compile:
            interpreters["transformers, compiled"] = (options.transformers_python, [*peer, "--compiled"])
    for library, (python, arguments) in interpreters.items():
        contestant = Contestant(python, [*arguments, *seconds])
        for length in sorted(options.lengths):
            try:
                figures = contestant.ask(length)
            except (SystemExit, BrokenPipeError):
                reason = f"failed, with at most {options.memory:g} GB"
                print(f"| {family} | {library} | {length} | {reason} | | | |", flush=True)
                break
            cells = " | ".join(f"{1000 * wall:.1f} | {peak:.0f}" for wall, peak in figures)
            print(f"| {family} | {library} | {length} | {cells} |", flush=True)
        else:
            contestant.stop()


def serve(family: str, least: float) -> None:
    """Answers each length with seconds and MB of a forward pass and of a step."""
    import keras
    import tensorflow as tf

    answer({"keras": keras.__version__, "tensorflow": tf.__version__})
    for length in questions():
        answer(times_of(family, length, least))


def times_of(family: str, length: int, least: float) -> list[tuple[float, float]]:
    """Seconds and MB of a forward pass and of a step of our model, for one length."""
    import tensorflow as tf

    from benchmarks.harness.our_steps import make_step
    from keras_bert.families.hugging_face import ACTIVATIONS
    from keras_bert.families.registry import FAMILIES as KNOWN
    from keras_bert.interop.configs import read_encoder_config
    from keras_bert.models.encoder import build_encoder, input_names
    from keras_bert.models.pretraining import build_pretraining

    description = KNOWN[family]
    content = {
        "hidden_act": "gelu",
        "initializer_range": 0.02,
        "layer_norm_eps": 1e-12,
        "type_vocab_size": 2,
        "hidden_dropout_prob": 0.1,
        "attention_probs_dropout_prob": 0.1,
        **description.defaults,
        **settings_of(family, length),
    }
    variant = {} if description.read_variant is None else {"variant": description.read_variant(content)}
    config = read_encoder_config(Path(family), content, description.keys, ACTIVATIONS, {**description.fixed, **variant})
    model = build_pretraining(build_encoder(config, pooler=False), next_sentence=False)
    batch = make_batch(1, length, VOCABULARY)
    given = {name: tf.constant(batch[name]) for name in (*input_names(model), "mask_positions")}
    call = tf.function(lambda inputs: model(inputs, training=False)["masked_tokens"])
    figures = [measure(lambda: call(given).numpy(), least)]
    return [*figures, measure(make_step(model, "float32 XLA parts", batch), least)]


if __name__ == "__main__":
    main()
