"""Makes the references of tests/keras_bert/interop/test_hugging_face.py with transformers itself.

    python tests/golden/hugging_face.py [folder of all-MiniLM-L6-v2]

Made with Python 3.11, torch 2.13.0, transformers 5.23.0, safetensors 0.8.0, tokenizers as transformers asks for. The
weights of the small models are random numbers of our own; of all-MiniLM-L6-v2 only what it answers is kept.
"""

import sys
from pathlib import Path

import numpy as np
import torch
import transformers

HERE = Path(__file__).parent
WORDS = "the a cat dog sat on mat rain fell all day ##s ##ing un ##known , . ! ?".split()
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS, *"abcdefghijklmnopqrstuvwxyz0123456789"[1:]]
SIZES = {
    "vocab_size": len(VOCABULARY),
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 40,
    "max_position_embeddings": 24,
}
LABELS = {0: "bad", 1: "so-so", 2: "good"}
TAGS = {0: "O", 1: "B-animal", 2: "I-animal"}
MODELS = {
    "bert_model": (transformers.BertModel, {"hidden_act": "gelu"}),
    "pretraining": (transformers.BertForPreTraining, {"hidden_act": "gelu_new"}),
    "masked_lm": (transformers.BertForMaskedLM, {"hidden_act": "gelu"}),
    "classification": (transformers.BertForSequenceClassification, {"hidden_act": "gelu_new", "id2label": LABELS}),
    "regression": (transformers.BertForSequenceClassification, {"hidden_act": "relu", "num_labels": 1}),
    "token_classification": (transformers.BertForTokenClassification, {"hidden_act": "gelu", "id2label": TAGS}),
    "question_answering": (transformers.BertForQuestionAnswering, {"hidden_act": "gelu_new"}),
}
SENTENCES = ["The cafe on the corner opens at nine.", "Überall Regen: 雨!", "Snow."]


def make_inputs() -> dict[str, np.ndarray]:
    """Three rows of which two are padded, with two segments."""
    rng = np.random.default_rng(7)
    lengths = np.array([[11], [7], [3]])
    places = np.arange(11)[None, :]
    mask = (places < lengths).astype("int32")
    return {
        "token_ids": rng.integers(1, len(VOCABULARY), (3, 11)).astype("int32") * mask,
        "segment_ids": (places >= lengths // 2).astype("int32") * mask,
        "padding_mask": mask,
    }


def run(model: torch.nn.Module, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """All of the model's outputs."""
    names = {"token_ids": "input_ids", "segment_ids": "token_type_ids", "padding_mask": "attention_mask"}
    with torch.no_grad():
        outputs = model.eval()(**{names[name]: torch.tensor(array).long() for name, array in inputs.items()})
    return {f"output_{name}": value.numpy() for name, value in outputs.items() if isinstance(value, torch.Tensor)}


def make_small(name: str) -> None:
    """One small model with random weights, its tokenizer, inputs and outputs."""
    kind, settings = MODELS[name]
    torch.manual_seed(len(name))
    model = kind(transformers.BertConfig(**SIZES, **settings))
    with torch.no_grad():
        for parameter in model.parameters():
            # Matrices, biases and LayerNorm: far enough from what a new model holds that nothing can be mixed up.
            parameter.copy_(parameter.mean().round() + 0.3 * torch.randn_like(parameter))
    folder = HERE / f"hugging_face_{name}"
    model.save_pretrained(folder)
    tokenizer = transformers.BertTokenizer(vocab={piece: number for number, piece in enumerate(VOCABULARY)})
    tokenizer.save_pretrained(folder)
    inputs = make_inputs()
    np.savez_compressed(folder / "outputs.npz", **inputs, **run(model, inputs))


def make_minilm(source: Path) -> None:
    """Last states of three sentences, and their vectors as sentence-transformers makes them."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(source)
    encoded = tokenizer(SENTENCES, padding=True, return_tensors="np")
    names = {"input_ids": "token_ids", "token_type_ids": "segment_ids", "attention_mask": "padding_mask"}
    inputs = {names[name]: encoded[name].astype("int32") for name in names}
    states = run(transformers.AutoModel.from_pretrained(source), inputs)["output_last_hidden_state"]
    mask = inputs["padding_mask"][:, :, None]
    means = (states * mask).sum(axis=1) / mask.sum(axis=1)
    vectors = means / np.linalg.norm(means, axis=1, keepdims=True)
    content = {**inputs, "sentences": np.array(SENTENCES), "states": states, "vectors": vectors}
    np.savez_compressed(HERE / "hugging_face_minilm.npz", **content)


if __name__ == "__main__":
    for name in MODELS:
        make_small(name)
    if len(sys.argv) > 1:
        make_minilm(Path(sys.argv[1]))
