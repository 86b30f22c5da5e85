"""The files of the hub's most used encoders, by what is in them: a line for each shape, with its checkpoints.

A line is `model:head | tokenizer | options | names`. `model` is a `model_type`, `head` one of `HEADS` or the end of the
class in `architectures`. Options are words and `key=value` pairs:

    cls, mean, max, ...  modules of sentence-transformers with this pooling, several joined by `+`; then `norm`,
                         `dense`, `dropout`, `lower` (do_lower_case), `length=N`, `prompts`, `default_prompt`,
                         `subfolder` (0_Transformer), `six` (names of version 6), `kin=A` (sentence_A_config.json), and
                         `splade` in place of the pooling
    bare                 only the encoder's tensors, whatever class is named
    bin                  `pytorch_model.bin` in place of safetensors
    slow                 no `tokenizer.json`: vocab.txt, vocab.json and merges.txt, or a model of sentencepiece
    vocabulary           neither `tokenizer.json` nor `tokenizer_config.json`
    class=A, no_class    `architectures`
    rows=N               N rows of the token embedding without a token
    add=N, special=N     N added tokens, special ones
    prefix=P, fp16       tensors' names begin with P; `model.fp16.safetensors`
    twice                `tokenizer.json` holds `<unk>` twice
    as=A                 `tokenizer_class` is `ATokenizer`
    labels=N, problem=P  of a classifier; `ce=A` is a cross-encoder's activation of the logits
    c.key=value          of the configuration, before it is built; `f.key=value` in the file; `t.key=value` in
                         `tokenizer_config.json`, `j` in `tokenizer.json` or its model, `s` and `l` in the settings and
                         the lengths of sentence-transformers; an empty value deletes a key
    generic              a tokenizer of no class of its own; `bilou`: names of labels; `untied`: the encoder is compared
"""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

# 19 texts and 5 pairs; sentence-transformers truncates the longest.
TEXTS = (
    "a film",
    "The cow went over the old stone bridge, and nobody saw her.",
    "Überall Regen: 雨! Café, naïve — 3.14.",
    "OLD cows, Older bridges; the oldest stones?",
    "  spaces   and\ttabs\nand lines  ",
    "日本語のテキスト。",
    "Мир!",
    "ΑΣ ΟΔΟΣ",
    "don't can't won't",
    "e-mail: a.b@example.com, https://example.com/a?b=c",
    "1,000,000.50 $ 20% #1",
    "déjà vu DÉJÀ VU",
    "film0x film1x filmx",
    "한국어 문장",
    "עברית ערבית العربية",
    "hello world " * 3,
    "x",
    "ﬁne ½ ²",
    "the cow saw the bridge and the bridge saw the cow " * 4,
)
PAIRS = (
    ("a film", "the film"),
    ("The cow went over", "the old stone bridge."),
    ("x", "nobody saw her go " * 2),
    ("old cows " * 3, "x"),
    ("Überall Regen", "Café, naïve"),
)

# The end of a class for a head.
HEADS = {
    "Texts": "ForSequenceClassification",
    "Tags": "ForTokenClassification",
    "Answers": "ForQuestionAnswering",
    "Masked": "ForMaskedLM",
    "Both": "ForPreTraining",
}
_PAIRED = ("class", "rows", "add", "special", "labels", "problem", "ce", "length", "kin", "prefix")


class HubShape(NamedTuple):
    """The files of a checkpoint; `words` and `values` are the options, `keys` those of files, by their letter."""

    name: str
    model_type: str
    head: str
    tokenizer: str
    words: frozenset[str]
    values: dict[str, Any]
    keys: dict[str, dict[str, Any]]


def read_shapes() -> Iterator[HubShape]:
    """Yields the shape of each checkpoint."""
    for line in filter(None, map(str.strip, _SHAPES.splitlines())):
        model, tokenizer, options, names = (part.strip() for part in line.split("|"))
        keys: dict[str, dict[str, Any]] = {letter: {} for letter in "cftjsl"}
        words, values = set(), {}
        for option in options.split():
            name, is_pair, value = option.partition("=")
            if name == "as":
                keys["t"]["tokenizer_class"] = f"{value}Tokenizer"
            elif name[1:2] == ".":
                keys[name[0]][name[2:]] = _read(value)
            elif is_pair:
                assert name in _PAIRED, option
                values[name] = _read(value)
            else:
                words.add(name)
        for name in names.split():
            model_type, head = model.split(":")
            yield HubShape(name, model_type, HEADS.get(head, head), tokenizer, frozenset(words), values, keys)


def _read(value: str) -> Any:
    try:
        return json.loads(value) if value else None
    except ValueError:
        return value


_SHAPES = """
bert:Model | lower | cls norm lower length=32 | BAAI/bge-small-en
bert:Model | lower | cls norm lower length=32 | BAAI/bge-small-en-v1.5 BAAI/bge-base-en-v1.5 BAAI/bge-large-en-v1.5
bert:Model | lower | cls norm lower length=32 | BAAI/bge-small-zh-v1.5 BAAI/bge-base-zh-v1.5
bert:Model | lower | cls norm lower length=32 six | BAAI/bge-small-en-v1.5-saved-by-version-6
bert:Model | lower | mean norm length=24 | sentence-transformers/all-MiniLM-L6-v2
bert:Model | lower | mean norm length=24 | sentence-transformers/all-MiniLM-L12-v2
bert:Model | lower | mean norm length=40 | thenlper/gte-small thenlper/gte-base
bert:Model | lower | mean norm prompts | intfloat/e5-small-v2 intfloat/e5-base-v2
bert:Model | lower | mean length=20 | sentence-transformers/paraphrase-MiniLM-L6-v2 pritamdeka/S-PubMedBert-MS-MARCO
bert:Model | lower | mean length=20 subfolder | sentence-transformers/bert-base-nli-mean-tokens
bert:Model | lower | mean length=20 subfolder | sentence-transformers/allenai-specter
bert:Model | lower | cls prompts | mixedbread-ai/mxbai-embed-large-v1 WhereIsAI/UAE-Large-V1
bert:Model | lower | cls norm prompts six | Snowflake/snowflake-arctic-embed-xs Snowflake/snowflake-arctic-embed-m
bert:Model | lower | mean norm default_prompt prompts | infgrad/stella-base-en-v2
bert:Model | lower | cls+mean norm length=40 | infgrad/stella-mrl-large-zh-v3.5-1792d
bert:Model | lower | mean | avsolatorio/GIST-small-Embedding-v0 shibing624/text2vec-base-chinese moka-ai/m3e-base
bert:Model | lower | max | sentence-transformers/bert-base-nli-max-tokens
bert:Model | lower | weightedmean six | Muennighoff/SBERT-base-nli-v2
bert:Model | cased | mean length=30 | snunlp/KR-SBERT-V40K-klueNLI-augSTS KBLab/sentence-bert-swedish-cased
bert:Model | cased | mean length=30 | NbAiLab/nb-sbert-base
bert:Model | cased | cls dense norm | sentence-transformers/LaBSE
bert:Both | cased | cls norm length=50 | cointegrated/rubert-tiny2 cointegrated/LaBSE-en-ru
bert:Model | xlmr | mean norm rows=35 c.pad_token_id=0 | intfloat/multilingual-e5-small
bert:Model | xlmr | mean rows=35 c.pad_token_id=0 length=24 | sentence-transformers/paraphrase-multilingual-MiniLM-L12
bert:Model | lower | | princeton-nlp/sup-simcse-bert-base-uncased nreimers/MiniLM-L6-H384-uncased
bert:Model | lower | | DeepPavlov/rubert-base-cased-sentence
bert:Model | lower | class=Contriever | facebook/contriever
bert:Model | lower | no_class | microsoft/MiniLM-L12-H384-uncased huawei-noah/TinyBERT_General_4L_312D
bert:Model | xlmr | no_class slow c.pad_token_id=0 | microsoft/Multilingual-MiniLM-L12-H384
bert:Model | lower | no_class bin vocabulary f.model_type= prefix=bert. | prajjwal1/bert-tiny prajjwal1/bert-mini
bert:Both | lower | no_class bin vocabulary | google/bert_uncased_L-2_H-128_A-2 google/bert_uncased_L-4_H-256_A-4
bert:Both | lower | no_class bin vocabulary | allenai/scibert_scivocab_uncased emilyalsentzer/Bio_ClinicalBERT
bert:Both | lower | class=BertForMaskedLM | google-bert/bert-base-uncased
bert:Both | cased | class=BertForMaskedLM | google-bert/bert-base-cased google-bert/bert-base-multilingual-cased
bert:Masked | lower | | google-bert/bert-base-chinese hfl/chinese-macbert-base
bert:Masked | cased | t.strip_accents=false | deepset/gbert-base google-bert/bert-base-german-cased
bert:Masked | cased | t.strip_accents=false | KB/bert-base-swedish-cased
bert:Masked | cased | | aubmindlab/bert-base-arabertv02 dccuchile/bert-base-spanish-wwm-cased
bert:Masked | cased | | GroNLP/bert-base-dutch-cased
bert:Both | cased | | neuralmind/bert-base-portuguese-cased DeepPavlov/rubert-base-cased
bert:Both | cased | | TurkuNLP/bert-base-finnish-cased-v1
bert:Masked | cased | | klue/bert-base dbmdz/bert-base-turkish-cased
bert:Masked | cased | | microsoft/BiomedNLP-BiomedBERT-base-uncased-abstract
bert:Both | lower | | nlpaueb/legal-bert-base-uncased
bert:Masked | lower | rows=70 | indobenchmark/indobert-base-p1 nvidia/bert-padded
bert:Masked | lower | t.strip_accents=false | dbmdz/bert-base-german-uncased
bert:Masked | lower | t.tokenize_chinese_chars=false | google/muril-base-cased
bert:Masked | cased | as=BertJapanese t.word_tokenizer_type=mecab slow | tohoku-nlp/bert-base-japanese-v3
bert:Masked | lower | splade | naver/splade-cocondenser-ensembledistil
bert:Model | lower | add=2 | gte-with-added-tokens
bert:Model | lower | special=3 | colbert-ir/colbertv2.0
bert:Texts | lower | labels=3 bin vocabulary | ProsusAI/finbert
bert:Texts | lower | labels=5 | nlptown/bert-base-multilingual-uncased-sentiment nateraw/bert-base-uncased-emotion
bert:Texts | lower | labels=6 problem=multi_label_classification | unitary/toxic-bert
bert:Texts | lower | labels=1 problem=multi_label_classification | one-label-of-several
bert:Texts | lower | labels=3 f.label2id={"A":0,"B":0,"C":1} | textattack/bert-base-uncased-MNLI
bert:Texts | lower | labels=3 f.id2label={"0":"A","1":"A","2":"B"} f.label2id= | equal-label-names
bert:Texts | lower | labels=2 prefix=module. | trained-on-several-devices
bert:Texts | lower | labels=2 prefix=_orig_mod. | trained-compiled
bert:Texts | lower | labels=2 prefix=model. | trained-as-a-part-of-a-model
bert:Texts | lower | labels=3 f.id2label={"0":"A","2":"C","3":"D"} f.label2id= | labels-with-a-gap
bert:Texts | lower | labels=2 t.model_input_names=["input_ids","attention_mask"] | pairs-without-segments
bert:Masked | lower | c.tie_word_embeddings=false untied | head-of-its-own
bert:Model | lower | mean s.truncate_dim=9 | vectors-that-are-cut
bert:Model | lower | mean dropout length=12 kin=roberta | length-by-an-old-name-and-dropout
bert:Model | cased | mean l.tokenizer_args={"do_lower_case":true} | lowercase-of-tokenizer-args
bert:Texts | lower | labels=2 generic j.normalizer={"type":"Lowercase"} | lowercase-only
bert:Texts | lower | labels=2 generic j.pre_tokenizer={"type":"Whitespace"} | words-of-letters
bert:Texts | lower | labels=2 generic j.max_input_chars_per_word=4 | short-words
bert:Texts | lower | labels=2 j.max_input_chars_per_word=4 | short-words-of-a-class-of-transformers
bert:Texts | lower | labels=2 generic j.normalizer={"type":"NFC"} | composed-characters
bert:Texts | lower | labels=2 fp16 | weights-in-half-precision
bert:Texts | lower | labels=1 ce=identity | cross-encoder/ms-marco-MiniLM-L-6-v2 cross-encoder/ms-marco-TinyBERT-L-2-v2
bert:Texts | lower | labels=1 ce=sigmoid | cross-encoder/quora-bert-base
bert:Texts | lower | labels=1 ce=sigmoid six | cross-encoder/ms-marco-MiniLM-L12-v2
bert:Tags | cased | labels=5 | dslim/bert-base-NER dbmdz/bert-large-cased-finetuned-conll03-english
bert:Tags | cased | labels=5 f.position_embedding_type=absolute | Davlan/bert-base-multilingual-cased-ner-hrl
bert:Answers | cased | | deepset/bert-base-cased-squad2
bert:Answers | cased | | google-bert/bert-large-uncased-whole-word-masking-finetuned-squad
bert:ForMultipleChoice | lower | | bert-for-multiple-choice
bert:Masked | lower | c.hidden_act=gelu_python | nghuyong/gelu-python
bert:Model | lower | c.hidden_act=silu | bert-with-silu
ernie:Masked | lower | c.use_task_id=true | nghuyong/ernie-3.0-base-zh
ernie:Model | lower | | nghuyong/ernie-2.0-base-en
distilbert:Masked | lower | | distilbert/distilbert-base-uncased
distilbert:Masked | cased | | distilbert/distilbert-base-cased distilbert/distilbert-base-multilingual-cased
distilbert:Texts | lower | as=DistilBert labels=2 | distilbert/distilbert-base-uncased-finetuned-sst-2-english
distilbert:Texts | lower | as=DistilBert labels=6 | bhadresh-savani/distilbert-base-uncased-emotion
distilbert:Texts | lower | as=DistilBert labels=6 | lxyuan/distilbert-base-multilingual-cased-sentiments-student
distilbert:Tags | lower | as=DistilBert labels=5 | elastic/distilbert-base-uncased-finetuned-conll03-english
distilbert:Tags | lower | as=DistilBert labels=5 | dslim/distilbert-NER
distilbert:Answers | cased | as=DistilBert | distilbert/distilbert-base-cased-distilled-squad
distilbert:Answers | cased | as=DistilBert | distilbert/distilbert-base-uncased-distilled-squad
distilbert:Model | lower | mean norm length=40 as=DistilBert | sentence-transformers/multi-qa-distilbert-cos-v1
distilbert:Model | lower | mean norm length=40 as=DistilBert | sentence-transformers/msmarco-distilbert-base-v4
distilbert:Model | lower | cls as=DistilBert | sentence-transformers/msmarco-distilbert-base-tas-b
distilbert:Model | cased | mean dense as=DistilBert | sentence-transformers/distiluse-base-multilingual-cased-v1
distilbert:Model | cased | mean dense as=DistilBert | sentence-transformers/distiluse-base-multilingual-cased-v2
electra:Both | lower | as=Electra | google/electra-small-discriminator
electra:Both | cased | as=Electra | monologg/koelectra-base-v3-discriminator
electra:Masked | lower | as=Electra | google/electra-small-generator
electra:Texts | lower | labels=1 ce=identity as=Electra | cross-encoder/ms-marco-electra-base
electra:Answers | lower | as=Electra | deepset/electra-base-squad2
mobilebert:Both | lower | no_class as=MobileBert | google/mobilebert-uncased
mobilebert:Texts | lower | labels=2 as=MobileBert | Alireza1044/mobilebert_sst2
roberta:Masked | bpe | | FacebookAI/roberta-base distilbert/distilroberta-base
roberta:Masked | bpe | bare mean norm length=50 | sentence-transformers/all-distilroberta-v1
roberta:Model | bpe | mean norm length=50 | sentence-transformers/all-roberta-large-v1
roberta:Model | bpe | mean length=40 | sentence-transformers/paraphrase-distilroberta-base-v2
roberta:Model | bpe | mean length=40 | sentence-transformers/stsb-roberta-base
roberta:Model | bpe | bin slow | microsoft/codebert-base
roberta:Model | bpe | bin slow c.type_vocab_size=10 | microsoft/unixcoder-base
roberta:Masked | bpe | bin slow | cardiffnlp/twitter-roberta-base
roberta:Texts | bpe | labels=3 bin slow | cardiffnlp/twitter-roberta-base-sentiment
roberta:Texts | bpe | labels=3 bin | cardiffnlp/twitter-roberta-base-sentiment-latest
roberta:Texts | bpe | labels=7 problem=multi_label_classification | SamLowe/roberta-base-go_emotions
roberta:Texts | bpe | labels=7 | j-hartmann/emotion-english-distilroberta-base
roberta:Texts | bpe | labels=1 ce=sigmoid | cross-encoder/stsb-roberta-base
roberta:Texts | bpe | labels=3 ce=identity | cross-encoder/nli-roberta-base
roberta:Tags | bpe | labels=5 t.add_prefix_space=true bilou | obi/deid_roberta_i2b2
roberta:Answers | bpe | | deepset/roberta-base-squad2
roberta:Model | klue | mean t.model_input_names=["input_ids","attention_mask"] | jhgan/ko-sroberta-multitask
roberta:Masked | klue | t.model_input_names=["input_ids","attention_mask"] | klue/roberta-base
roberta:Model | bpe | cls norm | ibm-granite/granite-embedding-30m-english ibm-granite/granite-embedding-125m-english
roberta:Model | bpe | as=Phobert slow | vinai/phobert-base
roberta:Model | bpe | as=Bertweet slow | vinai/bertweet-base
xlm-roberta:Masked | xlmr | | FacebookAI/xlm-roberta-base microsoft/infoxlm-base
xlm-roberta:Model | xlmr | mean norm prompts | intfloat/multilingual-e5-base intfloat/multilingual-e5-large-instruct
xlm-roberta:Model | xlmr | cls norm bin | BAAI/bge-m3
xlm-roberta:Model | xlmr | cls norm prompts six | Snowflake/snowflake-arctic-embed-l-v2.0
xlm-roberta:Model | xlmr | cls norm prompts six | ibm-granite/granite-embedding-107m-multilingual
xlm-roberta:Model | xlmr | mean length=24 | sentence-transformers/paraphrase-multilingual-mpnet-base-v2
xlm-roberta:Texts | xlmr | labels=1 | BAAI/bge-reranker-base BAAI/bge-reranker-v2-m3
xlm-roberta:Texts | xlmr | labels=3 bin slow | cardiffnlp/twitter-xlm-roberta-base-sentiment
xlm-roberta:Texts | xlmr | labels=20 | papluca/xlm-roberta-base-language-detection
xlm-roberta:Tags | xlmr | labels=9 | Davlan/xlm-roberta-base-ner-hrl
xlm-roberta:Tags | xlmr | labels=9 | FacebookAI/xlm-roberta-large-finetuned-conll03-english
xlm-roberta:Answers | xlmr | slow | deepset/xlm-roberta-base-squad2
camembert:Masked | camembert | twice | almanach/camembert-base
camembert:Tags | camembert | labels=5 | Jean-Baptiste/camembert-ner
camembert:Model | camembert | mean | dangvantuan/sentence-camembert-base
albert:Masked | albert | | albert/albert-base-v2
albert:Texts | albert | labels=2 | textattack/albert-base-v2-yelp-polarity
albert:Model | albert | mean length=30 | sentence-transformers/paraphrase-albert-small-v2
albert:Masked | albert | slow t.keep_accents=true | ai4bharat/indic-bert
deberta-v2:Masked | deberta | no_class bin slow rows=99 | microsoft/deberta-v3-base microsoft/deberta-v3-small
deberta-v2:Masked | deberta | no_class bin slow rows=99 | microsoft/mdeberta-v3-base
deberta-v2:Texts | deberta | labels=3 rows=99 | cross-encoder/nli-deberta-v3-base
deberta-v2:Texts | deberta | labels=3 rows=99 | MoritzLaurer/DeBERTa-v3-base-mnli-fever-anli
deberta-v2:Texts | deberta | labels=3 rows=99 | MoritzLaurer/mDeBERTa-v3-base-mnli-xnli
deberta-v2:Texts | deberta | labels=1 ce=sigmoid rows=99 | mixedbread-ai/mxbai-rerank-base-v1
deberta-v2:Texts | deberta | labels=2 rows=99 | protectai/deberta-v3-base-prompt-injection-v2
deberta-v2:Answers | deberta | rows=99 | deepset/deberta-v3-base-squad2
deberta:Masked | deberta1 | no_class bin slow | microsoft/deberta-base
deberta:Texts | deberta1 | labels=3 | microsoft/deberta-large-mnli
modernbert:Masked | modern | | answerdotai/ModernBERT-base
modernbert:Masked | modern | t.cls_token=[UNK] | sbintuitions/modernbert-ja-130m
modernbert:Model | modern | mean t.cls_token=[UNK] | cl-nagoya/ruri-v3-30m
modernbert:Model | modern | mean norm prompts six | nomic-ai/modernbert-embed-base
modernbert:Model | modern | cls six | Alibaba-NLP/gte-modernbert-base
modernbert:Model | modern | cls norm f.position_embedding_type=sans_pos six | ibm-granite/granite-embedding-english-r2
modernbert:Model | modern | cls norm f.position_embedding_type=sans_pos six | ibm-granite/granite-embedding-small-r2
modernbert:Masked | modern | f.position_embedding_type=sans_pos | jhu-clsp/ettin-encoder-17m jhu-clsp/ettin-encoder-68m
modernbert:Masked | gemma | f.position_embedding_type=sans_pos | jhu-clsp/mmBERT-base jhu-clsp/mmBERT-small
modernbert:Texts | modern | labels=1 ce=sigmoid | Alibaba-NLP/gte-reranker-modernbert-base
longformer:Masked | bpe | | allenai/longformer-base-4096
longformer:Answers | bpe | | valhalla/longformer-base-4096-finetuned-squadv1
big_bird:Both | bigbird | slow | google/bigbird-roberta-base
mpnet:Model | mpnet | mean norm length=40 class=MPNetForMaskedLM | sentence-transformers/all-mpnet-base-v2
mpnet:Model | mpnet | mean | sentence-transformers/paraphrase-mpnet-base-v2
mpnet:Model | mpnet | mean | sentence-transformers/multi-qa-mpnet-base-dot-v1
mpnet:Masked | mpnet | | microsoft/mpnet-base
nomic_bert:Model | lower | mean norm six | nomic-ai/nomic-embed-text-v1 nomic-ai/nomic-embed-text-v1.5
gte:Model | xlmr | cls norm six | Alibaba-NLP/gte-multilingual-base Snowflake/snowflake-arctic-embed-m-v2.0
jina_embeddings_v3:Model | xlmr | mean norm | jinaai/jina-embeddings-v3
eurobert:Masked | modern | | EuroBERT/EuroBERT-210m
gemma3_text:Model | gemma | mean dense norm prompts six | google/embeddinggemma-300m
data2vec-text:Masked | bpe | | facebook/data2vec-text-base
roberta-prelayernorm:Masked | bpe | | andreasmadsen/efficient_mlm_m0.40
megatron-bert:Masked | lower | | nvidia/megatron-bert-uncased-345m
convbert:Model | lower | | YituTech/conv-bert-base
fnet:Model | lower | | google/fnet-base
"""
