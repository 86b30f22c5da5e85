/*
 * An interface in C to `bert_edge.hpp`: tokenizers and answers of pushed models, for Dart, C#, Rust and others. Build it
 * with a compiler of C++17: `c++ -std=c++17 -O2 -shared -fPIC bert_edge.cpp -o libbert_edge.so`.
 *
 * Texts are UTF-8 with their numbers of bytes, and need no zero at their ends. A function that fails returns NULL or -1,
 * and `bert_edge_error` says why. A model may be used by several threads; a question belongs to one thread at a time.
 */
#ifndef BERT_EDGE_H
#define BERT_EDGE_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define BERT_EDGE_API __declspec(dllexport)
#else
/* `used`: an app may find the functions by their names alone. */
#define BERT_EDGE_API __attribute__((visibility("default"), used))
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bert_edge_model bert_edge_model;
typedef struct bert_edge_question bert_edge_question;

/* What offsets count. */
enum { BERT_EDGE_BYTES = 0, BERT_EDGE_UTF16 = 1, BERT_EDGE_CODE_POINTS = 2 };

/* A token; `begins` is 1 for the first token of a word. */
typedef struct {
  int32_t id;
  uint32_t start, end;
  int32_t begins;
} bert_edge_token;

/* A part of an answer, see `Entry` of bert_edge.hpp. Its texts live as long as the question, or until its next answer. */
typedef struct {
  const char *label;
  size_t label_size;
  const char *text;
  size_t text_size;
  double probability;
  int32_t is_given, is_sure;
  uint32_t start, end;
} bert_edge_entry;

/* Why the last call in this thread failed, as a sentence that ends with a zero. */
BERT_EDGE_API const char *bert_edge_error(void);

/*
 * A model, by the contents of files of a pushed folder: vocab.txt; characters.txt or subwords.txt; task.json; and
 * metrics.json, whose size may be 0. The contents are not needed afterwards. Questions may outlive the model.
 */
BERT_EDGE_API bert_edge_model *bert_edge_open(const char *vocabulary, size_t vocabulary_size, const char *rules, size_t rules_size,
                                              const char *task, size_t task_size, const char *metrics, size_t metrics_size);
BERT_EDGE_API void bert_edge_close(bert_edge_model *model);

/* The most tokens of a row. */
BERT_EDGE_API size_t bert_edge_max_length(const bert_edge_model *model);

/*
 * The tokens of a text, without special tokens. Returns their number, which may exceed the capacity; as many as that are
 * written.
 */
BERT_EDGE_API int64_t bert_edge_tokenize(const bert_edge_model *model, const char *text, size_t size, int32_t unit, bert_edge_token *tokens,
                                         size_t capacity);

/*
 * A text that the model is asked about; `second` is NULL for a single text, and `prompt` the name of a prompt of task.json
 * that is put in front of a single text, or NULL.
 */
BERT_EDGE_API bert_edge_question *bert_edge_ask(const bert_edge_model *model, const char *text, size_t size, const char *second, size_t second_size,
                                                const char *prompt, int32_t unit);
BERT_EDGE_API void bert_edge_forget(bert_edge_question *question);

/* The number of rows that the model has to run, and the number of tokens of one; -1 where there is no such row. */
BERT_EDGE_API size_t bert_edge_row_count(const bert_edge_question *question);
BERT_EDGE_API int64_t bert_edge_row_length(const bert_edge_question *question, size_t row);

/* Writes the inputs of a row, `length` numbers each, with zeros at padding. Pointers may be NULL. Returns 0. */
BERT_EDGE_API int32_t bert_edge_row(const bert_edge_question *question, size_t row, size_t length, int32_t *token_ids, int32_t *segment_ids,
                                    int32_t *padding_mask);

/* Keeps the output of a row; `values` are copied. Returns 0. */
BERT_EDGE_API int32_t bert_edge_set_output(bert_edge_question *question, size_t row, const float *values, size_t count);

/* Answers once all outputs are set; returns the number of entries. */
BERT_EDGE_API int64_t bert_edge_answer(bert_edge_question *question);

/* As above, with an entry for each word of token_classification. */
BERT_EDGE_API int64_t bert_edge_tags(bert_edge_question *question);

/* Reads an entry of the last answer. Returns 0. */
BERT_EDGE_API int32_t bert_edge_entry_of(const bert_edge_question *question, size_t place, bert_edge_entry *entry);

/* The number of the last answer, in regression and re-ranking. */
BERT_EDGE_API double bert_edge_number(const bert_edge_question *question);

/* The vector of the last answer, in embedding and retrieval, and its width. */
BERT_EDGE_API const float *bert_edge_vector(const bert_edge_question *question, size_t *width);

#ifdef __cplusplus
}
#endif

#endif
