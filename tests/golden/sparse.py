"""Makes tests/golden/sparse with sentence-transformers' SparseEncoder: small folders and the vectors of texts.

    python -m tests.golden.sparse

Made with Python 3.11, torch 2.10.0, transformers 5.3.0, sentence-transformers 5.3.0. The model of both folders is
that of `hugging_face_masked_lm`, which a test copies into them, as it writes the weights of queries, `WEIGHTS`.
"""

import json
import shutil
import tempfile
from pathlib import Path

import numpy as np

GOLDEN = Path(__file__).parent
HERE = GOLDEN / "sparse"
MODEL = GOLDEN / "hugging_face_masked_lm"
# Each folder -> the folder of the model's files in it.
FOLDERS = {"splade": "", "router": "document_0_MLMTransformer"}
QUERY_FOLDER = "query_0_SparseStaticEmbedding"
TEXTS = ["the cow", "the old bridge went by a cow and", "a", "cow bridge , unheard-of words"]
WEIGHTS = np.linspace(0.1, 2.0, 59, dtype="float32")


def make(name: str) -> dict[str, list[list[float]]]:
    """Writes a folder without its model, and returns the vectors of the texts as queries and as documents."""
    import torch
    from sentence_transformers import SparseEncoder
    from sentence_transformers.models import Router
    from sentence_transformers.sparse_encoder.models import MLMTransformer, SparseStaticEmbedding, SpladePooling

    modules = [MLMTransformer(str(MODEL)), SpladePooling("max")]
    if name == "router":
        query = SparseStaticEmbedding(modules[0].tokenizer, weight=torch.from_numpy(WEIGHTS))
        modules = [Router.for_query_document(query_modules=[query], document_modules=modules)]
    model = SparseEncoder(modules=modules)
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        kept = ("modules.json", "router_config.json", "*/config.json", "**/sentence_bert_config.json", "config_*.json")
        for file in (file for pattern in kept for file in Path(folder).glob(pattern)):
            if file.parent.name != FOLDERS["router"] or file.name != "config.json":
                target = HERE / name / file.relative_to(folder)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, target)
    encode = {"query": model.encode_query, "passage": model.encode_document}
    vectors = {kind: encode[kind](TEXTS, convert_to_tensor=True).to_dense().double() for kind in encode}
    return {kind: vectors[kind].numpy().round(7).tolist() for kind in vectors}


if __name__ == "__main__":
    shutil.rmtree(HERE, ignore_errors=True)
    answers = {name: make(name) for name in FOLDERS}
    (HERE / "answers.json").write_text(json.dumps({"answers": answers}))
