# ruff: noqa: RUF001
"""Makes tests/golden/slow_tokenizers: folders without `tokenizer.json`, and the ids of texts in transformers.

    python -m tests.golden.slow_tokenizers

Made with Python 3.11, transformers 5.24.0, tokenizers 0.23.3, sentencepiece 0.2.3. The models are tiny, with the layout
of the released ones: the order of special tokens, user-defined pieces, a table of replaced characters.
"""

import io
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import sentencepiece
import tokenizers
import transformers
from sentencepiece import sentencepiece_model_pb2

HERE = Path(__file__).parent / "slow_tokenizers"
SENTENCES = (
    "The cow went over the old stone bridge (twice), and nobody saw her go — not even 3.14 hens!",
    "Überall fällt Regen; die Brücke am Fluß ist naß, größer als 1,000 Häuser.",
    "Où est passé l'élève ? Ça coûte 25 € à l'hôtel « Café ».",
    "¿Dónde está el niño? ¡Mañana lloverá en España!",
    "Москва — столица России, а Нева течёт в Петербурге.",
    "北京的冬天很冷，夏天很热。東京では雨が降っています。",
    "한국어 문장은 띄어쓰기를 합니다. 오늘은 날씨가 좋다.",
    "الكتاب على الطاولة، والطفل يقرأ. שלום עולם, מה שלומך?",
    "भारत एक विशाल देश है। ไทยเป็นภาษาที่ไม่มีช่องว่าง",
    "Đường phố Hà Nội đông đúc; İstanbul'da ılık bir gün. Ο ήλιος λάμπει.",
)
PARTS = (
    "{0}",
    " {0}",
    "{0}  ",
    "\t{0}\n{1}",
    "{0}   {1}",
    "{1}\u00a0{0}",
    "({0}) [{1}]",
    "``{0}''",
    "{0}\u3000{1}\u2009x",
    "{0}😀👍🏽",
    "ＡＢＣ１２ ﬁ {0}",
    "e\u0301 {0} \u00e9",
    "▁{0} ▁▁ _",
    "{0}...!!!???",
    "\u200b{0}\ufeff",
    "(a)(b),,c--d",
    "",
    " ",
    "\n",
    "0,1 2,3 9, 10,000 x,",
)
TEXTS = [
    *dict.fromkeys(
        part.format(sentence, SENTENCES[(number + 3) % len(SENTENCES)])
        for part in PARTS
        for number, sentence in enumerate(SENTENCES)
    ),
    *(sentence.upper() for sentence in SENTENCES),
    *(word for sentence in SENTENCES for word in sentence.split()),
]
PAIRS = [(TEXTS[number], TEXTS[-number - 1]) for number in range(5)]
# A character or several -> what replaces them.
RULES = {
    "Ａ": "A",
    "Ｂ": "B",
    "Ｃ": "C",
    "１": "1",
    "２": "2",
    "ﬁ": "fi",
    "\u00a0": " ",
    "\u3000": " ",
    "e\u0301": "é",
    "…": "...",
}
SIGNS = ["(", ")", '"', "-", ".", "–", "£", "€"]


def train(**settings: Any) -> sentencepiece_model_pb2.ModelProto:
    """A unigram of sentencepiece over the sentences."""
    written = io.BytesIO()
    defaults: dict[str, Any] = {"vocab_size": 400, "hard_vocab_limit": False, "minloglevel": 2}
    with tempfile.NamedTemporaryFile("w", suffix=".tsv") as rules:
        rules.writelines(f"{code(key)}\t{code(value)}\n" for key, value in RULES.items())
        rules.flush()
        defaults["normalization_rule_tsv"] = rules.name
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(SENTENCES * 3), model_writer=written, **{**defaults, **settings}
        )
    model = sentencepiece_model_pb2.ModelProto.FromString(written.getvalue())
    # The path of the file is part of the model.
    model.normalizer_spec.ClearField("normalization_rule_tsv")
    return model


def code(text: str) -> str:
    """Code points as sentencepiece's rules have them."""
    return " ".join(f"{ord(character):X}" for character in text)


def train_bytes(special: list[str]) -> tuple[dict[str, int], list[str]]:
    """The vocabulary and the merges of a byte-level BPE."""
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=400, special_tokens=special, initial_alphabet=alphabet)
    made.train_from_iterator(SENTENCES, trainer)
    model = json.loads(made.to_str())["model"]
    return model["vocab"], [merge if isinstance(merge, str) else " ".join(merge) for merge in model["merges"]]


def write_sentencepiece(folder: Path, file: str, model: sentencepiece_model_pb2.ModelProto, **settings: Any) -> None:
    """The folder of a sentencepiece model."""
    folder.mkdir(parents=True)
    (folder / file).write_bytes(model.SerializeToString())
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))


def write_bytes(folder: Path, special: list[str], **settings: Any) -> None:
    """The folder of a byte-level BPE."""
    folder.mkdir(parents=True)
    vocabulary, merges = train_bytes(special)
    (folder / "vocab.json").write_text(json.dumps(vocabulary))
    (folder / "merges.txt").write_text("#version: 0.2\n" + "".join(f"{merge}\n" for merge in merges))
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))


def make_folders() -> None:
    """The layouts of the released tokenizers."""
    roberta = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    write_bytes(HERE / "roberta", roberta, tokenizer_class="RobertaTokenizer", model_max_length=32)
    write_bytes(HERE / "roberta-spaced", roberta, tokenizer_class="RobertaTokenizerFast", add_prefix_space=True)
    deberta = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]"]
    write_bytes(HERE / "deberta", deberta, tokenizer_class="DebertaTokenizer")
    fairseq = train()
    write_sentencepiece(HERE / "xlm-roberta", "sentencepiece.bpe.model", fairseq, tokenizer_class="XLMRobertaTokenizer")
    write_sentencepiece(HERE / "camembert", "sentencepiece.bpe.model", fairseq, tokenizer_class="CamembertTokenizer")
    albert: dict[str, Any] = {
        "pad_id": 0,
        "unk_id": 1,
        "bos_id": -1,
        "eos_id": -1,
        "control_symbols": ["[CLS]", "[SEP]", "[MASK]"],
        "user_defined_symbols": SIGNS,
        "pad_piece": "<pad>",
    }
    model = train(**albert)
    write_sentencepiece(HERE / "albert", "spiece.model", model, tokenizer_class="AlbertTokenizer")
    settings = {"do_lower_case": False, "keep_accents": True}
    write_sentencepiece(
        HERE / "albert-cased", "spiece.model", train(**albert), tokenizer_class="AlbertTokenizer", **settings
    )
    deberta_v2: dict[str, Any] = {
        "pad_id": 0,
        "bos_id": 1,
        "eos_id": 2,
        "unk_id": 3,
        "pad_piece": "[PAD]",
        "bos_piece": "[CLS]",
        "eos_piece": "[SEP]",
        "unk_piece": "[UNK]",
    }
    model = train(**deberta_v2)
    write_sentencepiece(
        HERE / "deberta-v3", "spm.model", model, tokenizer_class="DebertaV2Tokenizer", do_lower_case=False
    )
    (HERE / "deberta-v3" / "added_tokens.json").write_text(f'{{"[MASK]": {len(model.pieces)}}}')
    write_sentencepiece(
        HERE / "deberta-v2", "spm.model", model, tokenizer_class="DebertaV2Tokenizer", do_lower_case=True
    )
    big_bird = train(
        pad_id=0, eos_id=1, bos_id=2, unk_id=3, pad_piece="<pad>", control_symbols=["[CLS]", "[SEP]", "[MASK]"]
    )
    pieces = list(big_bird.pieces)
    # The released model has <unk> at 100, behind [CLS], [SEP] and [MASK] at 65 to 67.
    moved = [*pieces[:3], *pieces[7:69], *pieces[4:7], *pieces[69:101], pieces[3], *pieces[101:]]
    del big_bird.pieces[:]
    big_bird.pieces.extend(moved)
    big_bird.trainer_spec.unk_id = 100
    write_sentencepiece(HERE / "bigbird", "spiece.model", big_bird, tokenizer_class="BigBirdTokenizer")


def ask(folder: Path) -> dict[str, Any]:
    """Ids of texts without special tokens, of pairs with them, and the ids of the special tokens."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    pairs = [tokenizer(*pair) for pair in PAIRS]
    keys = ("pad", "unk", "cls", "sep", "mask")
    return {
        "ids": [tokenizer(text, add_special_tokens=False)["input_ids"] for text in TEXTS],
        "pairs": [pair["input_ids"] for pair in pairs],
        "segments": [pair.get("token_type_ids", [0] * len(pair["input_ids"])) for pair in pairs],
        "special": [getattr(tokenizer, f"{key}_token_id") for key in keys],
        "size": len(tokenizer),
    }


if __name__ == "__main__":
    shutil.rmtree(HERE, ignore_errors=True)
    make_folders()
    answers = {folder.name: ask(folder) for folder in sorted(HERE.iterdir())}
    (HERE / "answers.json").write_text(
        json.dumps({"texts": TEXTS, "pairs": PAIRS, "answers": answers}, ensure_ascii=False)
    )
