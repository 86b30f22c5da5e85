// Splits texts and builds rows: `cut VOCABULARY RULES LENGTH`, in the forms of `check_program` in `fuzz.py` and of
// `check_subwords` in `subword_fuzz.py`.

#include <fstream>
#include <iostream>
#include <iterator>

#include "bert_edge.hpp"

static std::string read_file(const char *path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

template <typename Numbers>
static void print(const Numbers &numbers, char end) {
  const char *separator = "";
  for (const auto number : numbers) {
    std::cout << separator << static_cast<std::int64_t>(number);
    separator = " ";
  }
  std::cout << end;
}

int main(int, char **arguments) {
  const std::string rules = read_file(arguments[2]);
  const bool is_wordpiece = rules.rfind("kind ", 0) != 0;
  const auto tokenizer = bert_edge::open_tokenizer(read_file(arguments[1]), rules);
  const std::size_t length = std::stoul(arguments[3]);
  std::ios::sync_with_stdio(false);
  std::vector<bert_edge::Token> before;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream codes(line);
    std::string text;
    for (std::uint32_t code = 0; codes >> code;) bert_edge::detail::append_utf8(code, text);
    const auto tokens = tokenizer->tokenize(text, bert_edge::Unit::code_points);
    const char *separator = "";
    for (const auto &token : tokens) {
      std::cout << separator << token.id << ':' << token.start << ':' << token.end;
      if (!is_wordpiece) std::cout << ':' << token.begins;
      separator = " ";
    }
    std::cout << '\t';
    const bert_edge::Row pair = tokenizer->encode(tokens, before, length);
    print(tokenizer->encode(tokens, length).token_ids, '\t');
    print(pair.token_ids, '\t');
    print(pair.segment_ids, is_wordpiece ? '\t' : '\n');
    if (is_wordpiece) print(bert_edge::detail::Decoded(tokenizer->plain(text)).codes, '\n');
    before = tokens;
  }
}
