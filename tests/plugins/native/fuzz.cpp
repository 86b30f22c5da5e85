// Tries random inputs: `fuzz FOLDER MODELS COUNT SEED`. FOLDER has folders 0, 1, ... of models, each with `vocab.txt`, `rules.txt`, `task.json`
// and `metrics.json`, and `texts.txt`. Most inputs are texts; some are broken tables or settings, which have to be refused
// or to work. The sanitizers and the checks below end the program. With -DLIBFUZZER the input is libFuzzer's.

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>

#include "bert_edge.hpp"

namespace {

struct Files {
  std::string vocabulary, rules, task, metrics;
};

std::string read_file(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void require(bool holds, const char *what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

class Chance {
 public:
  explicit Chance(std::uint64_t seed) : engine_(seed) {}
  std::size_t below(std::size_t limit) { return limit ? engine_() % limit : 0; }

 private:
  std::mt19937_64 engine_;
};

/* Changes, removes, repeats and inserts bytes, and parts of a text. */
std::string mutate(std::string text, Chance &chance) {
  for (std::size_t change = chance.below(6); change > 0; change -= 1) {
    const std::size_t place = chance.below(text.size() + 1), size = chance.below(std::min<std::size_t>(text.size() - place, 40) + 1);
    switch (chance.below(5)) {
      case 0: text.insert(place, 1, static_cast<char>(chance.below(256))); break;
      case 1: text.erase(place, size); break;
      case 2: text.insert(place, text.substr(place, size)); break;
      case 3: bert_edge::detail::append_utf8(static_cast<char32_t>(chance.below(0x110000)), text); break;
      default:
        if (place < text.size()) text[place] = static_cast<char>(chance.below(256));
    }
  }
  return text;
}

void check_tokens(const bert_edge::Tokenizer &tokenizer, const std::string &text) {
  const auto tokens = tokenizer.tokenize(text), units = tokenizer.tokenize(text, bert_edge::Unit::utf16), codes = tokenizer.tokenize(text, bert_edge::Unit::code_points);
  require(tokens.size() == units.size() && tokens.size() == codes.size(), "units change tokens");
  for (std::size_t place = 0; place < tokens.size(); place += 1) {
    const auto &token = tokens[place];
    require(token.start <= token.end && token.end <= text.size() && token.id >= 0, "a token stands outside of its text");
    require(codes[place].end <= units[place].end && units[place].end <= token.end, "units are in another order");
  }
  require(tokens.empty() || tokens[0].begins, "the first token begins no word");
  const bert_edge::Row row = tokenizer.encode(tokens, units, 16);
  require(row.token_ids.size() <= 16 && row.token_ids.size() == row.segment_ids.size(), "a row is too long");
}

void check_answer(const bert_edge::Question &question, const std::string &text, std::size_t labels, Chance &chance) {
  std::vector<std::vector<float>> outputs;
  for (const bert_edge::Row &row : question.rows()) {
    std::vector<float> values(labels ? labels : row.token_ids.size() * 4);
    for (float &value : values) value = static_cast<float>(chance.below(2000)) / 100 - 10;
    outputs.push_back(std::move(values));
  }
  for (const bert_edge::Entry &entry : question.answer(outputs).entries) {
    require(entry.probability >= 0 && entry.probability < 1.0001, "a probability is none");
    require(entry.text == text.substr(entry.start, entry.end - entry.start), "an answer stands at another place");
  }
}

void try_model(const Files &files, const std::string &text) {
  const bert_edge::Model model(files.vocabulary, files.rules, files.task, files.metrics);
  check_tokens(model.tokenizer(), text);
  (void)model.ask(text);
}

/* Some lines of a file, so that opening it is fast. */
std::string some_lines(const std::string &content, Chance &chance) {
  const auto lines = bert_edge::detail::split_lines(content);
  std::string some;
  const std::size_t head = std::min<std::size_t>(lines.size(), 20), step = 1 + chance.below(std::max<std::size_t>(lines.size() / 50, 1));
  for (std::size_t line = 0; line < lines.size(); line += line < head ? 1 : step) some.append(lines[line]).push_back('\n');
  return some;
}

class Fuzz {
 public:
  Fuzz(const std::string &folder, std::size_t count) {
    for (std::size_t place = 0; place < count; place += 1) {
      const std::string path = folder + "/" + std::to_string(place) + "/";
      files_.push_back({read_file(path + "vocab.txt"), read_file(path + "rules.txt"), read_file(path + "task.json"), read_file(path + "metrics.json")});
      models_.emplace_back(files_.back().vocabulary, files_.back().rules, files_.back().task, files_.back().metrics);
      labels_.push_back(files_.back().task.find("\"classification\"") == std::string::npos ? 0 : models_.back().labels().size());
    }
    content_ = read_file(folder + "/texts.txt");
    for (const std::string_view line : bert_edge::detail::split_lines(content_)) lines_.emplace_back(line);
  }

  /* Returns whether the input was refused. */
  bool try_one(Chance &chance) const {
    std::string text = lines_[chance.below(lines_.size())];
    if (chance.below(4) == 0) text += " " + lines_[chance.below(lines_.size())];
    return try_text(mutate(std::move(text), chance), chance);
  }

  bool try_text(const std::string &text, Chance &chance) const {
    const std::size_t place = chance.below(models_.size()), kind = chance.below(20);
    try {
      if (kind == 0) {
        Files files = files_[place];
        (chance.below(4) == 0 ? files.metrics : files.task) = mutate(chance.below(2) ? files.task : files.metrics, chance);
        (void)bert_edge::Model("[CLS]\n[SEP]\n[UNK]\n", "blank 20 20\n", files.task, files.metrics);
      } else if (kind == 1) {
        Files files = files_[place];
        files.rules = mutate(some_lines(files.rules, chance), chance);
        if (chance.below(4) == 0) files.vocabulary = mutate(files.vocabulary, chance);
        if (files.vocabulary.size() < 20000) try_model(files, text);
      } else {
        check_tokens(models_[place].tokenizer(), text);
        if (labels_[place] == 0 && files_[place].task.find("question") != std::string::npos) {
          check_answer(models_[place].ask_pair(lines_[chance.below(lines_.size())], text), text, 0, chance);
        } else {
          check_answer(models_[place].ask(text), text, labels_[place], chance);
        }
      }
    } catch (const bert_edge::Error &) {
      return true;
    }
    return false;
  }

 private:
  std::vector<Files> files_;
  std::vector<bert_edge::Model> models_;
  std::vector<std::size_t> labels_;
  std::string content_;
  std::vector<std::string> lines_;
};

}  // namespace

#ifdef LIBFUZZER
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  static const Fuzz fuzz(std::getenv("FUZZ_FOLDER"), std::strtoul(std::getenv("FUZZ_MODELS"), nullptr, 10));
  Chance chance(size ? data[0] : 0);
  fuzz.try_text(std::string(reinterpret_cast<const char *>(data), size), chance);
  return 0;
}
#else
int main(int, char **arguments) {
  const Fuzz fuzz(arguments[1], std::strtoul(arguments[2], nullptr, 10));
  Chance chance(std::strtoul(arguments[4], nullptr, 10));
  std::size_t refused = 0;
  const std::size_t count = std::strtoul(arguments[3], nullptr, 10);
  for (std::size_t input = 0; input < count; input += 1) refused += fuzz.try_one(chance);
  std::printf("%zu inputs, %zu refused\n", count, refused);
}
#endif
