/*
 * A static model for programs without a runtime: ids of tokens in, a vector out. It needs sqrtf and strcmp of the C library.
 *
 * The vector is the mean of the rows of the tokens that count, each times its factor; then a dense layer if there is one,
 * and length 1 if the model is normalized. The tokenizer is the caller's. Ids have their special tokens or not: those
 * never count.
 */
#ifndef STATIC_MODEL_H
#define STATIC_MODEL_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

@CONSTANTS@

/*
 * 1 if vectors of this space can be compared with those of the model, else 0: embed the texts again with this model, or
 * train it into their space. `space` is the identifier beside an index or a table; an empty one is unknown and passes.
 */
static inline int static_model_has_space(const char *space) {
  return !*space || !*STATIC_MODEL_SPACE || strcmp(space, STATIC_MODEL_SPACE) == 0;
}

/* Writes STATIC_MODEL_WIDTH numbers; returns how many tokens count, or -1 and writes nothing if an id is of no row. */
static int static_model_embed(const int32_t *ids, size_t count, float *vector) {
  float mean[STATIC_MODEL_COLUMNS] = {0};
  int counted = 0;
  for (size_t place = 0; place < count; place += 1) {
    int ignored = 0;
    if (ids[place] < 0 || ids[place] >= STATIC_MODEL_TOKENS) return -1;
    for (size_t other = 0; other < sizeof static_model_ignored / sizeof *static_model_ignored; other += 1) {
      ignored |= ids[place] == static_model_ignored[other];
    }
    if (ignored) continue;
    const int8_t *row = static_model_table + (size_t)ids[place] * STATIC_MODEL_COLUMNS;
    for (int column = 0; column < STATIC_MODEL_COLUMNS; column += 1) {
      mean[column] += static_model_factors[ids[place]] * (row[column] - STATIC_MODEL_ZERO);
    }
    counted += 1;
  }
  for (int column = 0; column < STATIC_MODEL_COLUMNS; column += 1) {
    mean[column] = counted ? mean[column] / counted : 1.0f; /* a text without tokens has a direction, too */
  }
  float squares = 0.0f;
  for (int place = 0; place < STATIC_MODEL_WIDTH; place += 1) {
#if STATIC_MODEL_IS_PROJECTED
    vector[place] = 0.0f;
    for (int column = 0; column < STATIC_MODEL_COLUMNS; column += 1) {
      vector[place] += mean[column] * static_model_projection[column * STATIC_MODEL_WIDTH + place];
    }
#else
    vector[place] = mean[place];
#endif
    squares += vector[place] * vector[place];
  }
#if STATIC_MODEL_IS_NORMALIZED
  for (int place = 0; place < STATIC_MODEL_WIDTH; place += 1) vector[place] /= sqrtf(squares > 1e-12f ? squares : 1e-12f);
#else
  (void)squares;
#endif
  return counted;
}

#endif
