"""What a job file may not say: each value and each combination once, where the user meets the rule."""

import pytest

from components.examples.registry import TASK_ROWS
from keras_bert.core.plugins import find_plugins
from keras_bert.options.export import list_runtimes
from tests.pipeline.settings.texts import CHECKPOINT, CORPUS, EXAMPLES, QUERIES, refusal, write_data

STUDENT = "[student]\nnum_layers = 1\n"
LABEL_SETS = EXAMPLES + "task = 'multi_label'\nlabel_columns = ['x', 'y']\n"
SENTENCES = EXAMPLES + "task = 'token_classification'\n"
DOCSTRINGS = "[corpus]\nmegabytes = 2.0\n[examples]\nrows = 300\n"
REPLACED = "[pretraining]\nobjective = 'replaced_tokens'\n[pretraining_rows]\nobjective = 'none'\n"
TEXTS = "[corpus]\npath = 'texts'\n"
FOR_EXAMPLES = {"seeds": "2", "stride": "5", "max_query_length": "5", "pooling": "cls", "normalize": "true"}
FOR_EXAMPLES |= {
    "student": "{num_layers=1}",
    **dict.fromkeys(("fine_tuning", "quantization", "export", "evaluation", "push"), "{}"),
}
NO_START = "there must be a start: a [corpus] to pre-train on, a [checkpoint], or both"
UNREAD = "as no step would read it"
UNLEARNT = "where pretraining.objective is 'replaced_tokens', which learns nothing from it"
KINDS = "'bigbird', 'deberta', 'gated', 'longformer', 'mobilebert', 'modernbert', 'mpnet', 'pre_norm'"
KINDS = ", ".join([KINDS, *map(repr, find_plugins("families"))])
SHAPE = "encoder={num_layers=2, hidden_size=8, num_heads=2, intermediate_size=8}"
*_FIRST, _LAST = map(repr, list_runtimes())
RUNTIMES = f"{', '.join(_FIRST)} or {_LAST}"
LAST_SEED = "seed must leave room for 2 seeds below 2^32, got 4294967295"

# A table -> overrides of its keys in a job that pre-trains and fine-tunes, and the refusals that its name precedes.
VALUES = {
    "distillation": [
        ("temperature=0", "temperature must be positive, got 0"),
        ("hard_weight=2", "hard_weight must be at most 1, got 2"),
        ("hard_weight=-0.1", "hard_weight must be at least 0, got -0.1"),
        ("hidden_states=-1.0", "hidden_states must be at least 0, got -1.0"),
        ("attentions=-1.0", "attentions must be at least 0, got -1.0"),
        ("relations=-1.0", "relations must be at least 0, got -1.0"),
        ("cosine=-1.0", "cosine must be at least 0, got -1.0"),
        ("vectors=-1.0", "vectors must be at least 0, got -1.0"),
        ("similarities=-1.0", "similarities must be at least 0, got -1.0"),
        (
            "{relations=1.0, relation_kind='values'}",
            "relation_kind must be 'query_key_value' or 'attention_value', got 'values'",
        ),
        ("{relations=1.0, relation_heads=0}", "relation_heads must be positive, got 0"),
        ("{cosine=1.0, intermediate_steps=1.0}", "intermediate_steps must be below 1, got 1.0"),
        ("{hidden_states=1.0, layer_map=[0, -1]}", "layer_map.1 must be at least 0, got -1"),
        ("layer_map=[0]", "layer_map must be left out where hidden_states and attentions are 0, got (0,)"),
        ("teacher_layer=3", "teacher_layer must be left out where relations is 0, got 3"),
        ("relation_heads=3", "relation_heads must be left out where relations is 0, got 3"),
        (
            "relation_kind='attention_value'",
            "relation_kind must be left out where relations is 0, got 'attention_value'",
        ),
        (
            "{relations=1.0, relation_kind='attention_value', relation_heads=2}",
            "relation_heads must be left out where relation_kind is 'attention_value', got 2",
        ),
        (
            "intermediate_steps=0.5",
            "intermediate_steps must be left out where hidden_states, attentions, relations, cosine, vectors, "
            "similarities are 0, got 0.5",
        ),
    ],
    "export": [
        ("lengths=[32, 2]", "lengths.1 must be at least 3, got 2"),
        ("lengths=[32, 32]", "lengths must hold different items, got [32, 32]"),
        ("runtimes=[]", "runtimes must not be empty, got []"),
        (
            "runtimes=['tflite', 'torch']",
            f"runtimes.1 must be {RUNTIMES}, got 'torch'",
        ),
        ("runtimes=['onnx', 'onnx']", "runtimes must hold different items, got ['onnx', 'onnx']"),
        ("runtimes=['mediapipe']", "runtimes must hold 'tflite' beside 'mediapipe', got ['mediapipe']"),
        (
            "runtimes=['tflite', 'transformers_js']",
            "runtimes must hold 'onnx' beside 'transformers_js', got ['tflite', 'transformers_js']",
        ),
        ("opset=13", "opset must be at least 14, got 13"),
        ("opset=19", "opset must be at most 18, got 19"),
    ],
    "generator": [
        ("size=0.0", "size must be positive, got 0.0"),
        ("size=1.5", "size must be at most 1, got 1.5"),
        ("num_layers=0", "num_layers must be positive, got 0"),
        ("hidden_size=-1", "hidden_size must be positive, got -1"),
        ("num_heads=0", "num_heads must be positive, got 0"),
        ("intermediate_size=0", "intermediate_size must be positive, got 0"),
        ("sharing='all'", "sharing must be 'embeddings', 'none' or 'gradient_disentangled', got 'all'"),
        ("weight=0.0", "weight must be positive, got 0.0"),
    ],
    "masking": [
        ("rate=1.5", "rate must be below 1, got 1.5"),
        ("max_predictions=0", "max_predictions must be positive, got 0"),
        ("mask_share=1.1", "mask_share must be at most 1, got 1.1"),
        ("random_share=-0.1", "random_share must be at least 0, got -0.1"),
        ("random_share=0.3", "mask_share must leave room for random_share=0.3, got 0.8"),
        ("strategy='words'", "strategy must be 'tokens', 'whole_words' or 'spans', got 'words'"),
    ],
    "pretraining_rows": [
        ("objective='order'", "objective must be 'next_sentence', 'sentence_order' or 'none', got 'order'"),
        ("compression='zip'", "compression must be 'none' or 'gzip', got 'zip'"),
        ("short_share=-0.1", "short_share must be at least 0, got -0.1"),
        ("short_length=7", "short_length must be at least 8, got 7"),
        ("duplication=0", "duplication must be positive, got 0"),
        ("held_out=1.0", "held_out must be below 1, got 1.0"),
        ("held_out=0.0", "held_out must be positive, got 0.0"),
        ("short_steps=1.0", "short_steps must be below 1, got 1.0"),
        ("short_share=1.5", "short_share must be at most 1, got 1.5"),
    ],
    "pruning": [
        ("sparsity=1.5", "sparsity must be below 1, got 1.5"),
        ("sparsity=0.0", "sparsity must be positive, got 0.0"),
        ("pattern='1:4'", "pattern must be 'unstructured' or '2:4', got '1:4'"),
        ("{pattern='2:4', sparsity=0.7}", "sparsity must be 0.5 with the pattern '2:4', got 0.7"),
        ("ramp=0.0", "ramp must be positive, got 0.0"),
    ],
    "quantization": [
        (
            "recipe='int3'",
            "recipe must be 'mixed_wi8_ai8', 'dynamic_wi8', 'static_wi8_ai8', 'static_wi8_ai16', 'weights_wi4', "
            "'weights_wi4_block32' or 'float16', got 'int3'",
        ),
        ("calibration_batches=0", "calibration_batches must be positive, got 0"),
        (
            "{post_training=true, epochs=3}",
            "epochs must be left out where post_training is true, as nothing trains, got 3.0",
        ),
        (
            "{post_training=true, hard_weight=0.1}",
            "hard_weight must be left out where post_training is true, as nothing trains, got 0.1",
        ),
        ("{post_training=true, seed=3}", "seed must be left out where post_training is true, as nothing trains, got 3"),
    ],
    "fine_tuning": [
        ("keep='first'", "keep must be 'best' or 'last', got 'first'"),
        ("validations=0", "validations must be positive, got 0"),
        ("patience=0", "patience must be positive, got 0"),
        ("{keep='last', patience=2}", "patience must be left out where keep is 'last', got 2"),
        ("batch_size=0", "batch_size must be positive, got 0"),
        ("class_weights=balance", "class_weights must be 'none' or 'balanced', got 'balance'"),
        ("class_weights.yes=much", "class_weights.yes must be a valid number, got 'much'"),
    ],
    "student": [
        ("{}", "num_layers must be set, or layers, got None"),
        ("num_layers=0", "num_layers must be positive, got 0"),
        ("hidden_size=-1", "hidden_size must be positive, got -1"),
        ("num_heads=0", "num_heads must be positive, got 0"),
        ("intermediate_size=0", "intermediate_size must be positive, got 0"),
        ("layers=[]", "layers must not be empty, got []"),
        ("layers=[0, -1]", "layers.1 must be at least 0, got -1"),
        ("embedding_rank=0", "embedding_rank must be positive, got 0"),
        ("{layers=[0, 3], num_layers=2}", "num_layers must be left out beside layers=[0, 3], got 2"),
        ("{layers=[0], hidden_size=8}", "hidden_size must be left out beside layers=[0], got 8"),
        ("{hidden_size=100, num_heads=3}", "hidden_size must be a multiple of num_heads=3, got 100"),
    ],
    "teacher_labels": [
        ("copies=-1", "copies must be at least 0, got -1"),
        ("new_pairs=9", "new_pairs must be at most 8, got 9"),
        ("replaced=0.0", "replaced must be positive, got 0.0"),
        ("candidates=0", "candidates must be positive, got 0"),
        ("seed=-1", "seed must be at least 0, got -1"),
    ],
    "pretraining": [
        ("steps=0", "steps must be positive, got 0"),
        ("batch_size=0", "batch_size must be positive, got 0"),
        ("accumulation=0", "accumulation must be positive, got 0"),
        ("{batch_size=8, accumulation=3}", "accumulation must divide batch_size=8, got 3"),
        ("learning_rate=nan", "learning_rate must be a finite number, got nan"),
        ("epochs=0.0", "epochs must be positive, got 0.0"),
        ("clip_norm=-1.0", "clip_norm must be positive, got -1.0"),
        ("power=0", "power must be positive, got 0"),
        ("warmup=1.1", "warmup must be at most 1, got 1.1"),
        ("weight_decay=-1", "weight_decay must be at least 0, got -1"),
        ("layer_decay=0.0", "layer_decay must be positive, got 0.0"),
        ("ema=1.0", "ema must be below 1, got 1.0"),
        ("decay='step'", "decay must be 'linear', 'cosine' or 'polynomial', got 'step'"),
        ("precision='float64'", "precision must be 'auto', 'float32', 'bfloat16' or 'float16', got 'float64'"),
        ("xla='on'", "xla must be 'off', 'parts' or 'whole', got 'on'"),
        ("seed=-1", "seed must be at least 0, got -1"),
        ("seed=4294967296", "seed must be below 4294967296, got 4294967296"),
    ],
    "encoder.variant": [
        ("{kind='bigbird', block_size=0}", "block_size must be positive, got 0"),
        ("{kind='bigbird', random_blocks=-1}", "random_blocks must be at least 0, got -1"),
        (
            "{kind='bigbird', attention='original_full'}",
            "attention must be 'block_sparse' or 'full', got 'original_full'",
        ),
        ("{kind='deberta', max_distance=0}", "max_distance must be positive, got 0"),
        ("{kind='deberta', position_buckets=3}", "position_buckets must be 0 or at least 4, got 3"),
        (
            "{kind='deberta', position_buckets=8, max_distance=5}",
            "max_distance must be larger than half of position_buckets=8 and 1, got 5",
        ),
        (
            "{kind='deberta', content_to_position=false, position_to_content=false}",
            "content_to_position must be true where position_to_content is not, got False",
        ),
        ("{kind='deberta', convolution=2}", "convolution must be 0 or an odd number, got 2"),
        (
            "{kind='deberta', convolution_activation='gelu'}",
            "convolution_activation must be 'tanh', 'gelu_tanh', 'gelu_erf' or 'relu', got 'gelu'",
        ),
        ("{kind='longformer', window=7}", "window must be a multiple of 2, got 7"),
        ("{kind='longformer', window=0}", "window must be at least 2, got 0"),
        ("{kind='longformer', windows=[4, 5]}", "windows.1 must be a multiple of 2, got 5"),
        ("{kind='mobilebert', bottleneck_size=0}", "bottleneck_size must be positive, got 0"),
        ("{kind='mobilebert', feed_forwards=0}", "feed_forwards must be positive, got 0"),
        ("{kind='mobilebert', normalization='rms'}", "normalization must be 'no_norm' or 'layer_norm', got 'rms'"),
        ("{kind='modernbert', global_every=0}", "global_every must be positive, got 0"),
        ("{kind='modernbert', window=0}", "window must be positive, got 0"),
        ("{kind='modernbert', global_theta=0.0}", "global_theta must be positive, got 0.0"),
        ("{kind='modernbert', local_theta=inf}", "local_theta must be a finite number, got inf"),
        ("{kind='modernbert', embedding_dropout=1.0}", "embedding_dropout must be below 1, got 1.0"),
        ("{kind='modernbert', global_layers=[2, 1]}", "global_layers must rise, got (2, 1)"),
        ("{kind='modernbert', global_layers=[-1, 1]}", "global_layers.0 must be at least 0, got -1"),
        ("{kind='gated', theta=0.0}", "theta must be positive, got 0.0"),
        ("{kind='gated', positions='absolute'}", "positions must be 'rotary' or 'linear', got 'absolute'"),
        ("{kind='mpnet', position_buckets=30}", "position_buckets must be a multiple of 4, got 30"),
        (
            "{kind='mpnet', max_distance=8}",
            "max_distance must be larger than a quarter of position_buckets=32, got 8",
        ),
        ("{block_size=4}", "kind must be set"),
        *((f"{{kind={kind!r}}}", f"kind must be one of {KINDS}, got '{kind}'") for kind in ("bigbirt", 3)),
        ("{kind='bigbird', block_size='x'}", "block_size must be a valid integer, got 'x'"),
        ("{kind='longformer', windows=[1.5]}", "windows.0 must be a valid integer, got 1.5"),
        (
            "{kind='bigbird', window=4}",
            "window must be left out, as it does not go with the other keys of [encoder.variant]",
        ),
        (
            "{kind='bigbird', block_size='x', attention=3}",
            "block_size must be a valid integer, got 'x'; encoder.variant.attention must be 'block_sparse' or "
            "'full', got 3",
        ),
    ],
    "encoder": [
        ("num_heads=3", "hidden_size must be a multiple of num_heads=3, got 32"),
        ("num_layers=0", "num_layers must be positive, got 0"),
        ("dropout=1.0", "dropout must be below 1, got 1.0"),
        ("activation='gelu'", "activation must be 'gelu_tanh', 'gelu_erf', 'relu' or 'silu', got 'gelu'"),
        ("embedding_size=0", "embedding_size must be positive, got 0"),
        ("num_segments=-1", "num_segments must be at least 0, got -1"),
        ("position_offset=-2", "position_offset must be at least 0, got -2"),
    ],
    "vocabulary": [
        ("size=99", "size must be at least 100, got 99"),
        ("kind=bpee", "kind must be 'wordpiece', 'bpe' or 'unigram', got 'bpee'"),
    ],
    "examples": [
        (
            "task=tags",
            f"task must be one of {[*TASK_ROWS]}, got 'tags'",
        ),
        (
            "task=3",
            f"task must be one of {[*TASK_ROWS]}, got '3'",
        ),
        ("task=embedding", "second_text must be set for embedding, got None"),
        ("separator=;", "separator must be left out, as it does not go with the other keys of [examples]"),
        ("scale=5", "scale must be 1 unless task is embedding, got 5.0"),
        ("train=''", "train must not be empty, got ''"),
        ("text=label", "text must be another column than label and second_text, got ('label', 'label')"),
        ("{train='a.tsv', task='embedding', second_text='b', scale=0.0}", "scale must be positive, got 0.0"),
    ],
    "corpus": [
        ("text=''", "text must not be empty, got ''"),
        ("id=text", "id must be another field than text, got 'text'"),
        ("document_end=page", "document_end must be 'blank line' or 'file', got 'page'"),
        ("undecodable=keep", "undecodable must be 'error' or 'drop', got 'keep'"),
    ],
    "adaptation": [
        ("kind=lorra", "kind must be one of 'lora', 'adapters', 'prompt', 'bias', got 'lorra'"),
        ("rank=4", "kind must be set"),
        ("{kind='lora', rank=0}", "rank must be positive, got 0"),
        ("{kind='lora', size=8}", "size must be left out, as it does not go with the other keys of [adaptation]"),
    ],
    "evaluation": [
        ("min_share_of_teacher=1.5", "min_share_of_teacher must be at most 1, got 1.5"),
        ("max_megabytes=0", "max_megabytes must be positive, got 0"),
        ("max_milliseconds=-1.0", "max_milliseconds must be positive, got -1.0"),
        ("min_score=-1", "min_score must be at least 0, got -1"),
        ("min_score=100.5", "min_score must be at most 100, got 100.5"),
        ("min_score=0.01", "min_score must be 0, or 1 to 100 points (a share of 0.01 is 1 points), got 0.01"),
        ("min_score=0.99", "min_score must be 0, or 1 to 100 points (a share of 0.99 is 99 points), got 0.99"),
        ("max_export_loss=-1", "max_export_loss must be at least 0, got -1"),
        ("max_export_loss=100.5", "max_export_loss must be at most 100, got 100.5"),
        ("max_regression=-1", "max_regression must be at least 0, got -1"),
        ("max_regression=100.5", "max_regression must be at most 100, got 100.5"),
        ("min_precision=0.0", "min_precision must be positive, got 0.0"),
        ("min_precision=1.01", "min_precision must be at most 1, got 1.01"),
        (
            "slice_columns=['length']",
            "slice_columns must not name 'length', which is a kind of slice itself; rename the column, got ['length']",
        ),
        (
            "min_slice_scores={'source=web' = 80.0}",
            "min_slice_scores must be of slices by length, unknown; other columns stand in slice_columns, got "
            "'source=web'",
        ),
        (
            "min_slice_scores={'length=1-9' = 80.0}",
            "min_slice_scores must name one of length=1-8, length=9-16, length=17-32, length=33-64, length=65-128, "
            "length=129-256, length=257-512, length=513-, got 'length=1-9'",
        ),
        ("min_slice_scores={length = 101.0}", "min_slice_scores.length must be at most 100, got 101.0"),
        ("min_slice_scores={length = nan}", "min_slice_scores.length must be a finite number, got nan"),
    ],
    "cleaning": [
        ("min_words=-1", "min_words must be at least 0, got -1"),
        ("{min_words=5, max_words=4}", "max_words must be at least min_words=5, got 4"),
        ("repetition='all'", "repetition must be 'off', 'lines' or 'gopher', got 'all'"),
        ("threshold=0.0", "threshold must be positive, got 0.0"),
        ("threshold=2.0", "threshold must be at most 1, got 2.0"),
        ("permutations=1", "permutations must be at least 2, got 1"),
        ("shingle=0", "shingle must be positive, got 0"),
    ],
    "beam": [
        ("runner=''", "runner must not be empty, got ''"),
        ("workers=0", "workers must be positive, got 0"),
        (
            "runner='FlnkRunner'",
            "runner must be a Beam runner or the full name of a class, got 'FlnkRunner'; did you mean 'FlinkRunner'?",
        ),
    ],
}
# A job -> overrides that it cannot have, as the command line has them, and the refusals; "..." stands for more.
COMBINATIONS = {
    CORPUS + EXAMPLES: [
        ("quantization.cosine=1", "there is no setting 'quantization.cosine'; known: accumulation, ..."),
        (
            "encoder.variant={kind='longformer', windows=[4]}",
            "encoder.windows must hold one window for each of num_layers=2, got (4,)",
        ),
        (
            "encoder.variant={kind='bigbird', block_sise=4}",
            "there is no setting 'encoder.variant.block_sise'; did you mean 'block_size'?",
        ),
        ("encoder.variant=windowed", "encoder.variant must be a table, got 'windowed'"),
        ("pooling=max", "pooling must be 'cls' or 'mean', got 'max'"),
        ("seeds=0", "seeds must be at least 1, got 0"),
        ("seeds=101", "seeds must be at most 100, got 101"),
        ("seeds=two", "seeds must be a valid integer, got 'two'"),
        ("stride=0", "stride must be at least 1, got 0"),
        ("adaptation={kind='prompt', token=8}", "there is no setting 'adaptation.token'; did you mean 'tokens'?"),
        ("checkpoint.path=", "checkpoint.path must not be empty, got ''"),
        (
            "beam.runner='Dask'",
            "beam.runner must be a Beam runner or the full name of a class, got 'Dask'; known: Bundle...",
        ),
    ],
    CHECKPOINT + LABEL_SETS: [
        ("examples.label_columns=['x']", "examples.label_columns must be at least 2, got ('x',)"),
        (
            "examples.label_columns=['x', 'x']",
            "examples.text must differ from all other columns, got ('text', 'x', 'x')",
        ),
        (
            "examples.label_columns=['x', 'text']",
            "examples.text must differ from all other columns, got ('text', 'x', 'text')",
        ),
        ("examples.separator=;", "examples.separator must be left out if label_columns is set, got ';'"),
        ("examples.label=z", "examples.label must be left out if label_columns is set, got 'z'"),
    ],
    CHECKPOINT + SENTENCES: [
        ("examples.train=", "examples.train must not be empty, got ''"),
        ("examples.word_column=-1", "examples.tag_column must be another than word_column, got -1"),
        ("examples.tags=words", "examples.tags must be another than words, got 'words'"),
        ("examples.scheme=IOB", "examples.scheme must be 'BIO', 'IOB1', 'IOBES', 'BILOU' or 'any', got 'IOB'"),
    ],
    CHECKPOINT + DOCSTRINGS: [
        ("corpus.megabytes=0", "corpus.megabytes must be positive, got 0"),
        ("examples.rows=39", "examples.rows must be at least 40, got 39"),
        ("examples.question=x", "examples.question must be 'word_order' or 'library', got 'x'"),
    ],
    CHECKPOINT + EXAMPLES + STUDENT: [
        ("general_distillation={relations=1.0}", "general_distillation.path must be set"),
        (
            "general_distillation={path='texts'}",
            "general_distillation.relations must be above 0 where hidden_states, attentions and cosine are 0, as "
            "there is nothing else to learn from, got 0.0",
        ),
        ("general_distillation={path='texts', epochs=0.0}", "general_distillation.epochs must be positive, got 0.0"),
        (
            "general_distillation={path='texts', relations=1.0, layer_map=[0]}",
            "general_distillation.layer_map must be left out where hidden_states and attentions are 0, got (0,)",
        ),
        (
            "general_distillation={path='texts', relations=1.0, similarities=1.0}",
            "there is no setting 'general_distillation.similarities'; known: accumulation, ...",
        ),
        (
            "general_distillation={path='texts', relations=1.0, temperature=2.0}",
            "there is no setting 'general_distillation.temperature'; known: accumulation, ...",
        ),
    ],
    CHECKPOINT + QUERIES: [
        (
            "examples.query=text --set examples.passage=text",
            "examples.query must be another column than passage and...",
        ),
        (
            'contrast.loss="triplet"',
            "contrast.loss must be 'multiple_negatives' where examples.negatives is empty, got 'triplet'",
        ),
        (
            "fine_tuning.batch_size=1",
            "fine_tuning.batch_size must leave at least 2 rows in a part of a batch, as a query learns from the "
            "passages of other rows, got 1",
        ),
        (
            "student.num_layers=1 --set distillation.batch_size=8 --set distillation.accumulation=8",
            "distillation.batch_size must leave at least 2 rows in a part of a batch, as a query learns from the "
            "passages of other rows, got 8",
        ),
        (
            "examples.probabilities=p",
            "examples.probabilities must be left out where examples.negatives is empty, as the score of one passage "
            "alone says nothing",
        ),
        (
            "student.num_layers=1 --set seeds=2 --set distillation.teachers=seeds",
            "distillation.teachers must be 'own' for the task 'retrieval', whose loss compares batches",
        ),
        (
            "student.num_layers=1 --set teacher_labels.copies=1",
            "teacher_labels must be left out for the task 'retrieval', whose loss compares whole batches",
        ),
    ],
    CHECKPOINT + EXAMPLES: [
        ("contrast.scale=10.0", "contrast is only allowed for the task 'retrieval', got it for 'classification'"),
        ("export.dimension=8", "export.dimension is only allowed for embedding and retrieval, got 8"),
        ("stride=5", "stride is only allowed for question_answering, got it for classification"),
        ("normalize=true", "normalize is only allowed for embedding..."),
        (
            "max_query_length=5",
            "max_query_length is only allowed for question_answering, got it for classification",
        ),
        (
            "quantization={} --set export.runtimes=['onnx']",
            "quantization must be left out where export.runtimes has no 'tflite', as no other runtime runs its files, "
            "got ['onnx']",
        ),
        *(
            (f"{table}={{}}", f"{table} must be left out without [corpus], {UNREAD}")
            for table in "beam cleaning masking pretraining_rows pretraining generator vocabulary".split()
        ),
        (SHAPE, f"encoder must be left out without [corpus], {UNREAD}"),
        ("distillation={}", f"distillation must be left out without [student], {UNREAD}"),
        (
            "student.num_layers=1 --set teacher_labels.new_pairs=2",
            "teacher_labels.new_pairs must be left out unless the rows are pairs of texts with classes or a number, "
            "got 2",
        ),
        (
            "examples.probabilities=p --set distillation.epochs=5.0",
            "distillation.epochs must be left out without [student], as [fine_tuning] has the settings of the "
            "training, got 5.0",
        ),
        (
            "student.num_layers=1 --set distillation.teachers=seeds",
            "distillation.teachers must be 'own' where seeds is 1, got 'seeds'; set seeds to 2 or more",
        ),
        (
            "general_distillation={path='texts', relations=1.0}",
            f"general_distillation must be left out without [student], {UNREAD}",
        ),
        ("seeds=2 --set fine_tuning.seed=4294967295", f"fine_tuning.{LAST_SEED}"),
    ],
    CHECKPOINT + EXAMPLES + STUDENT + "[distillation]\n[quantization]\n": [
        *(
            (f"seeds=2 --set {table}.seed=4294967295", f"{table}.{LAST_SEED}")
            for table in ("distillation", "quantization")
        )
    ],
    CORPUS: [
        *(
            (f"{key}={value}", f"{key} must be left out without [examples], {UNREAD}")
            for key, value in FOR_EXAMPLES.items()
        ),
        ("generator={}", "generator must be left out where pretraining.objective is not 'replaced_tokens'"),
        (
            "pretraining.span_boundary=true",
            "masking.strategy must be 'spans' where pretraining.span_boundary is true, got 'tokens'",
        ),
        (
            "pretraining.mask_decoder=true",
            "pretraining.mask_decoder must be false where encoder.variant.kind is not 'deberta'",
        ),
        ("pretraining_rows.short_length=129", "pretraining_rows.short_length must be at most max_length=128, got 129"),
        (
            "pretraining.objective=replaced_tokens",
            f"pretraining_rows.objective must be 'none' {UNLEARNT}, got 'next_sentence'",
        ),
    ],
    CORPUS + REPLACED: [
        ("pretraining.span_boundary=true", f"pretraining.span_boundary must be False {UNLEARNT}, got True"),
        ("generator.num_layers=3", "generator.num_layers must be at most 2, the discriminator's, got 3"),
    ],
    CORPUS + EXAMPLES + "[pretraining_rows]\nobjective = 'none'\n": [
        (
            "pooling=cls",
            "pretraining_rows.objective must be one of pairs where pooling is 'cls', as these train the pooler, got "
            "'none'",
        )
    ],
    CHECKPOINT + TEXTS: [
        ("vocabulary={}", "vocabulary must be left out with [checkpoint]..."),
        (SHAPE, "encoder must be left out with [checkpoint]..."),
    ],
    CHECKPOINT: [("", "there must be something to train on: a [corpus], [examples], or both")],
    TEXTS: [("", "encoder must be set without [checkpoint]: the shape of the encoder ...")],
    EXAMPLES: [("", NO_START)],
    "": [("", NO_START)],
}

# The same of jobs whose data are there, which are read: rows with two labels, with three, and with numbers.
THREE = "[examples]\ntrain = 'three.tsv'\n"
NUMBERS = "[examples]\ntrain = 'numbers.tsv'\ntask = 'regression'\n"
WORDS = "[examples]\ntrain = 'words.txt'\ntask = 'token_classification'\n"
PAIRS = EXAMPLES + "task = 'embedding'\nsecond_text = 'other'\n"
WITH_DATA = {
    CHECKPOINT + EXAMPLES: [
        ("fine_tuning.class_weights={c = 2.0}", "fine_tuning.class_weights has 'c', which is not a label; known: a, b"),
        ("fine_tuning.class_weights={a = -1.0}", "fine_tuning.class_weights.a must be positive and finite, got -1.0"),
        (
            "fine_tuning.class_weights={a = 0.0, b = 0.0}",
            "fine_tuning.class_weights.a must be positive and finite, got 0.0",
        ),
        (
            "evaluation.metric=f1",
            "evaluation.metric must be one of ['accuracy', 'macro_f1', 'mcc'] for classification with 2 labels, "
            "got 'f1'",
        ),
        ("examples.overlap=x", "examples.overlap must be 'keep', 'drop' or 'error', got 'x'"),
    ],
    CHECKPOINT + THREE: [
        (
            "evaluation.metric=mcc",
            "evaluation.metric must be one of ['accuracy', 'macro_f1'] for classification with 3 labels, got 'mcc'",
        )
    ],
    CHECKPOINT + NUMBERS: [
        (
            "evaluation.metric=mcc",
            "evaluation.metric must be one of ['spearman', 'pearson', 'r2'] for regression, got 'mcc'",
        ),
        ("fine_tuning.class_weights=balanced", "fine_tuning.class_weights must be 'none' for regression, which has..."),
        (
            "evaluation.min_precision=0.9",
            "evaluation.min_precision is only allowed for classification and token_classification, got 0.9",
        ),
    ],
    CHECKPOINT + WORDS: [
        (
            "evaluation.slice_columns=['from']",
            "evaluation.slice_columns is only allowed for tables of texts, got 'from' for token_classification",
        )
    ],
    CHECKPOINT + PAIRS + STUDENT: [
        (
            "unlabelled.path=rows.tsv",
            "unlabelled is only allowed for classification, multi_label and regression, got it for embedding",
        )
    ],
}


@pytest.mark.parametrize(
    ("table", "override", "message"), [(table, *row) for table, rows in VALUES.items() for row in rows]
)
def test_refuses_value(tmp_path, table, override, message):
    override = f"{table}={override}" if override.startswith("{") else f"{table}.{override}"
    assert refusal(tmp_path, CORPUS + EXAMPLES, override) == f"{table}.{message}"


def check_refused(folder, job, overrides, message):
    line, (start, *rest) = refusal(folder, job, *filter(None, overrides.split(" --set "))), message.split("...")
    assert line.startswith(start) if rest else line == message


@pytest.mark.parametrize(
    ("job", "overrides", "message"), [(job, *row) for job, rows in COMBINATIONS.items() for row in rows]
)
def test_refuses_combination(tmp_path, job, overrides, message):
    check_refused(tmp_path, job, overrides, message)


@pytest.mark.parametrize(
    ("job", "overrides", "message"), [(job, *row) for job, rows in WITH_DATA.items() for row in rows]
)
def test_refuses_setting_for_its_data(tmp_path, job, overrides, message):
    write_data(tmp_path)
    (tmp_path / "three.tsv").write_text("text\tlabel\n" + "one\ta\ntwo\tb\nthree\tc\n" * 10)
    (tmp_path / "numbers.tsv").write_text("text\tlabel\n" + "one\t1\ntwo\t2\n" * 10)
    (tmp_path / "words.txt").write_text("Ada B-person\nwrote O\n\n" * 10)
    check_refused(tmp_path, job, overrides, message)
