"""Rows of every kind of data, and a checkpoint's folder whose weights no test reads."""

import json
import random

import numpy as np
import pyarrow as pa
from pyarrow.parquet import write_table
from safetensors.numpy import save_file

from keras_bert.tokenizers.wordpiece_vocabulary import SPECIAL_TOKENS

ANIMALS, PLANTS, OTHERS = ("cow", "hen", "owl", "fox"), ("oak", "fir", "elm", "fern"), ("the", "near", "old", "one")
WORDS = (*ANIMALS, *PLANTS, *OTHERS)
SIZES = {"num_hidden_layers": 4, "hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 2}


def write_checkpoint(folder, **changes):
    """A folder in Hugging Face's format, as far as a job is checked by it before it runs."""
    folder.mkdir()
    rates = dict.fromkeys(("hidden_dropout_prob", "attention_probs_dropout_prob", "initializer_range"), 0.1)
    config = {"model_type": "bert", "architectures": ["BertModel"], "hidden_act": "gelu", **rates, **SIZES}
    config |= {"max_position_embeddings": 64, "vocab_size": 40, "type_vocab_size": 2}
    (folder / "config.json").write_text(json.dumps({**config, **changes}))
    # Of the tensors, the names are read.
    save_file({"embeddings.word_embeddings.weight": np.zeros((40, 32), "float32")}, folder / "model.safetensors")
    (folder / "vocab.txt").write_text("\n".join([*SPECIAL_TOKENS, *WORDS]) + "\n")
    (folder / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": True, "model_max_length": 64}))
    return folder


def make_texts(count, seed=0):
    """Different texts of four to seven words."""
    rng = random.Random(seed)
    texts = {}
    while len(texts) < count:
        texts[" ".join(rng.choices(WORDS, k=rng.randint(4, 7)))] = None
    return list(texts)


def topic(text):
    """Whether a text is more about animals or about plants."""
    words = text.split()
    return "animal" if sum(word in ANIMALS for word in words) >= sum(word in PLANTS for word in words) else "plant"


def write_reviews(folder, count=60):
    """Texts and labels as CSV."""
    lines = ["id,review,kind"] + [f"{place},{text},{topic(text)}" for place, text in enumerate(make_texts(count))]
    return _write(folder / "reviews.csv", "\n".join(lines))


def write_text_pairs(folder):
    """Pairs and labels as TSV."""
    texts = make_texts(120)
    rows = [
        f"{first}\t{second}\t{int(topic(first) == topic(second))}"
        for first, second in zip(texts[::2], texts[1::2], strict=True)
    ]
    return _write(folder / "pairs.tsv", "\n".join(["sentence1\tsentence2\tlabel", *rows]))


def write_numbers(folder):
    """Texts and numbers as JSON lines."""
    rows = [{"text": text, "score": round(0.37 * len(text), 2)} for text in make_texts(60)]
    return _write(folder / "numbers.jsonl", "\n".join(map(json.dumps, rows)))


def write_similar_pairs(folder):
    """Pairs and their similarities as Parquet."""
    texts = make_texts(120)
    scores = [place % 11 / 2.2 for place in range(60)]
    table = pa.table({"text": texts[::2], "second_text": texts[1::2], "similarity": scores})
    write_table(table, folder / "similar.parquet")
    return folder / "similar.parquet"


def write_judged_passages(folder):
    """Queries with four passages each and their relevances."""
    texts = make_texts(80)
    rows = [
        {"query": texts[4 * (place // 4)], "passage": text, "relevance": place % 3} for place, text in enumerate(texts)
    ]
    return _write(folder / "judged.jsonl", "\n".join(map(json.dumps, rows)))


def write_label_lists(folder):
    """Texts with lists of labels as JSON lines."""
    rows = [{"text": text, "labels": sorted({topic(text), *text.split()[:1]})} for text in make_texts(200)]
    return _write(folder / "lists.jsonl", "\n".join(map(json.dumps, rows)))


def write_label_columns(folder):
    """Texts with a column of 0 and 1 for each label."""
    rows = [f"{text},{int('cow' in text)},{int('oak' in text)}" for text in make_texts(200)]
    return _write(folder / "flags.csv", "\n".join(["text,cow,oak", *rows]))


def write_columns(folder):
    """Tagged words in columns, in the scheme IOB1: no entity stands right behind another one of its type."""
    sentences = [
        "".join(f"{word} {'I-ANIMAL' if word in ANIMALS else 'O'}\n" for word in text.split())
        for text in make_texts(60)
    ]
    return _write(folder / "names.conll", "\n".join(sentences))


def write_lists(folder):
    """Lists of words and of tags, with names of Hugging Face's data sets."""
    rows = [
        {"tokens": text.split(), "pos_tags": ["NOUN" if word not in OTHERS else "DET" for word in text.split()]}
        for text in make_texts(60)
    ]
    return _write(folder / "speech.jsonl", "\n".join(map(json.dumps, rows)))


def write_squad(folder):
    """Questions in contexts, as SQuAD has them."""
    paragraphs = []
    for place, text in enumerate(make_texts(60)):
        answer = text.split()[1]
        entry = {
            "id": str(place),
            "question": f"near the {answer} ?",
            "answers": [{"text": answer, "answer_start": text.index(f" {answer}") + 1}],
        }
        paragraphs.append({"context": text, "qas": [entry]})
    return _write(folder / "squad.json", json.dumps({"data": [{"paragraphs": paragraphs}]}))


KINDS = {
    "classification": write_reviews,
    "pairs": write_text_pairs,
    "regression": write_numbers,
    "embedding": write_similar_pairs,
    "reranking": write_judged_passages,
    "label lists": write_label_lists,
    "label columns": write_label_columns,
    "columns": write_columns,
    "lists": write_lists,
    "question_answering": write_squad,
}


def _write(file, text):
    file.write_text(text + "\n", encoding="utf-8")
    return file
