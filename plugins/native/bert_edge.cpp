// The interface of `bert_edge.h`.

#include "bert_edge.h"

#include "bert_edge.hpp"

struct bert_edge_model {
  bert_edge::Model model;
};

struct bert_edge_question {
  bert_edge::Question question;
  std::vector<std::vector<float>> outputs;
  bert_edge::Answer answer;
};

namespace {

thread_local std::string last_error;

std::string_view view(const char *text, std::size_t size) { return size ? std::string_view(text, size) : std::string_view(); }

/* What a function returns, or `failure` with the reason kept. */
template <typename Result, typename Function>
Result guarded(Result failure, Function function) noexcept {
  try {
    return function();
  } catch (const std::exception &error) {
    try {
      last_error = error.what();
    } catch (...) {
      last_error.clear();
    }
    return failure;
  }
}

bert_edge::Unit unit_of(std::int32_t unit) {
  if (unit < BERT_EDGE_BYTES || unit > BERT_EDGE_CODE_POINTS) throw bert_edge::Error("a unit must be 0, 1 or 2, got " + std::to_string(unit));
  return static_cast<bert_edge::Unit>(unit);
}

const bert_edge::Row &row_of(const bert_edge_question *question, std::size_t row) {
  const auto &rows = question->question.rows();
  if (row >= rows.size()) throw bert_edge::Error("a row must be below " + std::to_string(rows.size()) + ", got " + std::to_string(row));
  return rows[row];
}

}  // namespace

const char *bert_edge_error(void) { return last_error.c_str(); }

bert_edge_model *bert_edge_open(const char *vocabulary, size_t vocabulary_size, const char *rules, size_t rules_size, const char *task, size_t task_size,
                                const char *metrics, size_t metrics_size) {
  return guarded(static_cast<bert_edge_model *>(nullptr), [&] {
    return new bert_edge_model{
        bert_edge::Model(view(vocabulary, vocabulary_size), view(rules, rules_size), view(task, task_size), view(metrics, metrics_size))};
  });
}

void bert_edge_close(bert_edge_model *model) { delete model; }

size_t bert_edge_max_length(const bert_edge_model *model) { return model->model.max_length(); }

int64_t bert_edge_tokenize(const bert_edge_model *model, const char *text, size_t size, int32_t unit, bert_edge_token *tokens, size_t capacity) {
  return guarded(std::int64_t{-1}, [&] {
    const auto found = model->model.tokenizer().tokenize(view(text, size), unit_of(unit));
    for (std::size_t place = 0; place < std::min(found.size(), capacity); place += 1) {
      tokens[place] = {found[place].id, found[place].start, found[place].end, found[place].begins};
    }
    return static_cast<std::int64_t>(found.size());
  });
}

bert_edge_question *bert_edge_ask(const bert_edge_model *model, const char *text, size_t size, const char *second, size_t second_size, const char *prompt,
                                  int32_t unit) {
  return guarded(static_cast<bert_edge_question *>(nullptr), [&] {
    auto question = second ? model->model.ask_pair(view(text, size), view(second, second_size), unit_of(unit))
                           : model->model.ask(view(text, size), unit_of(unit), prompt ? prompt : "");
    const std::size_t rows = question.rows().size();
    return new bert_edge_question{std::move(question), std::vector<std::vector<float>>(rows), {}};
  });
}

void bert_edge_forget(bert_edge_question *question) { delete question; }

size_t bert_edge_row_count(const bert_edge_question *question) { return question->question.rows().size(); }

int64_t bert_edge_row_length(const bert_edge_question *question, size_t row) {
  return guarded(std::int64_t{-1}, [&] { return static_cast<std::int64_t>(row_of(question, row).token_ids.size()); });
}

int32_t bert_edge_row(const bert_edge_question *question, size_t row, size_t length, int32_t *token_ids, int32_t *segment_ids, int32_t *padding_mask) {
  return guarded(std::int32_t{-1}, [&] {
    const bert_edge::Row &inputs = row_of(question, row);
    const std::size_t size = inputs.token_ids.size();
    if (length < size) throw bert_edge::Error("this row must have room for " + std::to_string(size) + " tokens, got " + std::to_string(length));
    for (std::size_t place = 0; place < length; place += 1) {
      if (token_ids) token_ids[place] = place < size ? inputs.token_ids[place] : 0;
      if (segment_ids) segment_ids[place] = place < size ? inputs.segment_ids[place] : 0;
      if (padding_mask) padding_mask[place] = place < size;
    }
    return std::int32_t{0};
  });
}

int32_t bert_edge_set_output(bert_edge_question *question, size_t row, const float *values, size_t count) {
  return guarded(std::int32_t{-1}, [&] {
    row_of(question, row);
    question->outputs[row].assign(values, values + count);
    return std::int32_t{0};
  });
}

int64_t bert_edge_answer(bert_edge_question *question) {
  return guarded(std::int64_t{-1}, [&] {
    question->answer = question->question.answer(question->outputs);
    return static_cast<std::int64_t>(question->answer.entries.size());
  });
}

int64_t bert_edge_tags(bert_edge_question *question) {
  return guarded(std::int64_t{-1}, [&] {
    question->answer = question->question.tags(question->outputs);
    return static_cast<std::int64_t>(question->answer.entries.size());
  });
}

int32_t bert_edge_entry_of(const bert_edge_question *question, size_t place, bert_edge_entry *entry) {
  return guarded(std::int32_t{-1}, [&] {
    const auto &entries = question->answer.entries;
    if (place >= entries.size()) throw bert_edge::Error("an entry must be below " + std::to_string(entries.size()) + ", got " + std::to_string(place));
    const bert_edge::Entry &found = entries[place];
    *entry = {found.label.data(), found.label.size(), found.text.data(), found.text.size(), found.probability,
              found.is_given,     found.is_sure,      found.start,       found.end};
    return std::int32_t{0};
  });
}

double bert_edge_number(const bert_edge_question *question) { return question->answer.number; }

const float *bert_edge_vector(const bert_edge_question *question, size_t *width) {
  *width = question->answer.vector.size();
  return question->answer.vector.data();
}
