// Tokenizes the lines of a file: `lines VOCABULARY RULES TEXTS` writes, for each line, the number of its tokens, then their
// ids, starts and ends in code points, all int32. `lines VOCABULARY RULES TEXTS ROUNDS` prints the
// processor's seconds of the opening, and of each round.

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>

#include "bert_edge.hpp"

static std::string read_file(const char *path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

int main(int count, char **arguments) {
  const auto seconds = [] { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; };
  const double started = seconds();
  const auto tokenizer = bert_edge::open_tokenizer(read_file(arguments[1]), read_file(arguments[2]));
  const double opened = seconds();
  const std::string texts = read_file(arguments[3]);
  const auto lines = bert_edge::detail::split_lines(texts);
  if (count > 4) {
    std::printf("%.6f\n", opened - started);
    for (int round = std::atoi(arguments[4]); round > 0; round -= 1) {
      const double start = seconds();
      std::size_t tokens = 0;
      for (const std::string_view line : lines) tokens += tokenizer->tokenize(line).size();
      std::printf("%.6f %zu\n", seconds() - start, tokens);
    }
    return 0;
  }
  std::vector<std::int32_t> numbers;
  for (const std::string_view line : lines) {
    const auto tokens = tokenizer->tokenize(line, bert_edge::Unit::code_points);
    numbers.assign(1, static_cast<std::int32_t>(tokens.size()));
    for (const auto &token : tokens) numbers.push_back(token.id);
    for (const auto &token : tokens) numbers.push_back(static_cast<std::int32_t>(token.start));
    for (const auto &token : tokens) numbers.push_back(static_cast<std::int32_t>(token.end));
    std::fwrite(numbers.data(), sizeof(std::int32_t), numbers.size(), stdout);
  }
}
