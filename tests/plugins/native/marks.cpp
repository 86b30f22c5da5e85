// Prints the code points that are marks.

#include <cstdio>

#include "bert_edge.hpp"

int main() {
  for (char32_t code = 0; code <= bert_edge::detail::kLastCode; code += 1) {
    if (bert_edge::detail::is_mark(code)) std::printf("%u\n", static_cast<unsigned>(code));
  }
}
