/*
 * Asks a pushed folder by the interface in C: `ask FOLDER UNIT`, in the form of `answers.py`: a line of input is a question,
 * and its answer a line of output.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bert_edge.h"

static char *read_file(const char *folder, const char *name, size_t *size) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "rb");
  *size = 0;
  if (!file) return NULL;
  fseek(file, 0, SEEK_END);
  *size = (size_t)ftell(file);
  rewind(file);
  char *content = malloc(*size + 1);
  if (fread(content, 1, *size, file) != *size) exit(1);
  fclose(file);
  return content;
}

/* Bytes in hexadecimal, up to a tab or the end of the line; NULL for a single "-". */
static char *read_text(char **rest, size_t *size) {
  char *field = *rest, *end = field + strcspn(field, "\t\n");
  *rest = *end ? end + 1 : end;
  *size = (size_t)(end - field) / 2;
  if (*field == '-') return NULL;
  char *text = malloc(*size + 1);
  for (size_t place = 0; place < *size; place += 1) {
    unsigned byte;
    sscanf(field + 2 * place, "%2x", &byte);
    text[place] = (char)byte;
  }
  text[*size] = 0;
  return text;
}

static void print_text(const char *text, size_t size) {
  for (size_t place = 0; place < size; place += 1) printf("%02x", (unsigned char)text[place]);
}

/* Prints the rows of a question, and gives it the outputs of the rest of the line. */
static void run_rows(bert_edge_question *question, char *rest) {
  for (size_t row = 0; row < bert_edge_row_count(question); row += 1) {
    const size_t length = (size_t)bert_edge_row_length(question, row) + 2;
    int32_t *inputs = malloc(3 * length * sizeof *inputs);
    if (bert_edge_row(question, row, length - 3, inputs, NULL, NULL) != -1) exit(2);
    if (bert_edge_row(question, row, length, inputs, inputs + length, inputs + 2 * length)) exit(2);
    for (size_t place = 0; place < length; place += 1) {
      if (!inputs[2 * length + place]) continue;
      printf("%s%d/%d", place ? " " : row ? "|" : "", inputs[place], inputs[length + place]);
    }
    free(inputs);
    size_t count = 0;
    float *values = malloc((strlen(rest) / 2 + 1) * sizeof *values);
    while (*rest && *rest != '\t' && *rest != '\n') values[count++] = strtof(rest, &rest);
    if (*rest) rest += 1;
    if (count && bert_edge_set_output(question, row, values, count)) exit(2);
    free(values);
  }
}

int main(int count, char **arguments) {
  (void)count;
  const char *names[] = {"vocab.txt", "characters.txt", "task.json", "metrics.json"};
  char *contents[4];
  size_t sizes[4], capacity = 1 << 24;
  for (int file = 0; file < 4; file += 1) {
    contents[file] = read_file(arguments[1], names[file], sizes + file);
    if (file == 1 && !contents[file]) contents[file] = read_file(arguments[1], "subwords.txt", sizes + file);
  }
  bert_edge_model *model = bert_edge_open(contents[0], sizes[0], contents[1], sizes[1], contents[2], sizes[2], contents[3], sizes[3]);
  for (int file = 0; file < 4; file += 1) free(contents[file]);
  if (!model) return fprintf(stderr, "%s\n", bert_edge_error()), 1;
  char *line = malloc(capacity);
  while (fgets(line, (int)capacity, stdin)) {
    char *rest = line;
    size_t size, second_size, prompt_size;
    char *text = read_text(&rest, &size), *second = read_text(&rest, &second_size), *prompt = read_text(&rest, &prompt_size);
    bert_edge_question *question = bert_edge_ask(model, text, size, second, second_size, prompt, atoi(arguments[2]));
    free(text);
    free(second);
    free(prompt);
    if (!question) return fprintf(stderr, "%s\n", bert_edge_error()), 1;
    run_rows(question, rest);
    int64_t entries = *rest ? bert_edge_answer(question) : 0;
    if (entries < 0) return fprintf(stderr, "%s\n", bert_edge_error()), 1;
    printf("\t%.17g\t", bert_edge_number(question));
    size_t width;
    const float *vector = bert_edge_vector(question, &width);
    for (size_t place = 0; place < width; place += 1) printf("%s%.9g", place ? " " : "", vector[place]);
    printf("\t");
    for (int64_t place = 0; place < entries; place += 1) {
      bert_edge_entry entry;
      if (bert_edge_entry_of(question, (size_t)place, &entry)) return 2;
      printf("%s", place ? "|" : "");
      print_text(entry.label, entry.label_size);
      printf(";%.17g;%d;%d;%u;%u;", entry.probability, entry.is_given, entry.is_sure, entry.start, entry.end);
      print_text(entry.text, entry.text_size);
    }
    printf("\n");
    bert_edge_forget(question);
  }
  free(line);
  bert_edge_close(model);
  return 0;
}
