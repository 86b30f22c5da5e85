/*
 * Tokenizers and answers of pushed models, in C++17 without dependencies: from a text to the rows that a model runs on,
 * and from the model's outputs to what its task answers. Running the model is the caller's.
 *
 * The tokenizers are WordPiece (Devlin et al. 2019), BPE of bytes or characters (Radford et al. 2019) and unigram (Kudo
 * 2018). They work by tables alone, `vocab.txt` with `characters.txt` or `subwords.txt` of a pushed folder, so that they
 * split a text as the model's training did, whatever Unicode the platform knows. All objects are immutable once they are
 * made, and may be used by several threads.
 *
 * Texts are UTF-8. Bytes that are not UTF-8 are read as U+FFFD, as Python does with `errors="replace"`. Errors are
 * exceptions, `bert_edge::Error`. `bert_edge.h` is an interface in C.
 */
#ifndef BERT_EDGE_HPP
#define BERT_EDGE_HPP

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <locale>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace bert_edge {

/* A file or an argument that cannot be used; the message is a whole sentence. */
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/* What the numbers of an offset count: bytes of UTF-8, units of UTF-16 (Dart, C#, Java), or Unicode code points. */
enum class Unit { bytes = 0, utf16 = 1, code_points = 2 };

/* A token: its id, where it stands in the text, [start, end), and whether it begins a word. */
struct Token {
  std::int32_t id;
  std::uint32_t start;
  std::uint32_t end;
  bool begins;
};

/* The inputs of a model for one row, without padding, and the number of tokens of each text in it. */
struct Row {
  std::vector<std::int32_t> token_ids;
  std::vector<std::int32_t> segment_ids;
  std::array<std::size_t, 2> lengths{0, 0};
};

namespace detail {

constexpr char32_t kSpace = 0x20;
constexpr char32_t kLastCode = 0x10FFFF;
constexpr std::int32_t kNoId = -1;
constexpr std::string_view kContinuation = "##";

/* How syllables of Hangul are made of their letters (The Unicode Standard, section 3.12). */
struct Hangul {
  static constexpr char32_t first = 0xAC00, lead = 0x1100, vowel = 0x1161, tail = 0x11A7;
  static constexpr char32_t leads = 19, vowels = 21, tails = 28, count = leads * vowels * tails;

  static bool is_syllable(char32_t code) { return code >= first && code < first + count; }

  /* Writes the two or three letters of a syllable; returns how many. */
  static std::size_t decompose(char32_t code, char32_t *letters) {
    const char32_t syllable = code - first;
    letters[0] = lead + syllable / (vowels * tails);
    letters[1] = vowel + syllable / tails % vowels;
    letters[2] = tail + syllable % tails;
    return syllable % tails ? 3 : 2;
  }
};

/* ---- UTF-8 ---- */

/* The code point at a place, which moves behind it; U+FFFD for the longest part of a code point that is cut off. */
inline char32_t decode_utf8(std::string_view text, std::size_t &place) {
  const auto lead = static_cast<unsigned char>(text[place++]);
  if (lead < 0x80) return lead;
  int more = 0;
  unsigned low = 0x80, high = 0xBF;
  char32_t code = 0;
  if (lead >= 0xC2 && lead <= 0xDF) {
    more = 1;
    code = lead & 0x1FU;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    more = 2;
    code = lead & 0x0FU;
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    more = 3;
    code = lead & 0x07U;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
  } else {
    return 0xFFFD;
  }
  for (; more > 0; more -= 1) {
    if (place == text.size()) return 0xFFFD;
    const auto byte = static_cast<unsigned char>(text[place]);
    if (byte < low || byte > high) return 0xFFFD;
    code = code << 6 | (byte & 0x3FU);
    low = 0x80;
    high = 0xBF;
    place += 1;
  }
  return code;
}

/* Writes a code point, at most four bytes; returns the place behind it. */
inline char *write_utf8(char32_t code, char *byte) {
  if (code < 0x80) {
    *byte++ = static_cast<char>(code);
    return byte;
  }
  if (code < 0x800) {
    *byte++ = static_cast<char>(0xC0 | code >> 6);
  } else {
    if (code < 0x10000) {
      *byte++ = static_cast<char>(0xE0 | code >> 12);
    } else {
      *byte++ = static_cast<char>(0xF0 | code >> 18);
      *byte++ = static_cast<char>(0x80 | (code >> 12 & 0x3F));
    }
    *byte++ = static_cast<char>(0x80 | (code >> 6 & 0x3F));
  }
  *byte++ = static_cast<char>(0x80 | (code & 0x3F));
  return byte;
}

inline void append_utf8(char32_t code, std::string &text) {
  char bytes[4];
  text.append(bytes, write_utf8(code, bytes));
}

inline std::size_t utf8_width(char32_t code) { return code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4; }

/* A text as code points, with the byte at which each begins, and the end. */
struct Decoded {
  std::vector<char32_t> codes;
  std::vector<std::uint32_t> bytes;

  explicit Decoded(std::string_view text) {
    if (text.size() >= std::numeric_limits<std::uint32_t>::max() / 4) throw Error("a text must be below 1 GiB");
    codes.resize(text.size());
    bytes.resize(text.size() + 1);
    std::size_t count = 0;
    for (std::size_t place = 0; place < text.size(); count += 1) {
      bytes[count] = static_cast<std::uint32_t>(place);
      codes[count] = decode_utf8(text, place);
    }
    codes.resize(count);
    bytes.resize(count + 1);
    bytes[count] = static_cast<std::uint32_t>(text.size());
  }

  /* For each code point, and for the end, the number of units before it; empty where a unit is a code point. */
  std::vector<std::uint32_t> offsets(Unit unit) const {
    if (unit == Unit::bytes) return bytes;
    std::vector<std::uint32_t> units;
    if (unit == Unit::code_points) return units;
    units.resize(codes.size() + 1);
    for (std::size_t place = 0; place < codes.size(); place += 1) units[place + 1] = units[place] + (codes[place] > 0xFFFF ? 2 : 1);
    return units;
  }
};

/* ---- Tables ---- */

/* A value for each code point, 0 where none was set. */
template <typename Value>
class CodeTable {
 public:
  CodeTable() : pages_((kLastCode >> 8) + 1, 0), values_(256) {}

  Value operator[](char32_t code) const { return values_[static_cast<std::size_t>(pages_[code >> 8]) << 8 | (code & 0xFF)]; }

  Value &at(char32_t code) {
    std::uint16_t &page = pages_[code >> 8];
    if (page == 0) {
      page = static_cast<std::uint16_t>(values_.size() >> 8);
      values_.resize(values_.size() + 256);
    }
    return values_[static_cast<std::size_t>(page) << 8 | (code & 0xFF)];
  }

 private:
  std::vector<std::uint16_t> pages_;
  std::vector<Value> values_;
};

/* Sequences of code points, by number. */
class Sequences {
 public:
  struct Span {
    const char32_t *first;
    const char32_t *last;
    const char32_t *begin() const { return first; }
    const char32_t *end() const { return last; }
    std::size_t size() const { return static_cast<std::size_t>(last - first); }
  };

  std::uint32_t add(const std::vector<char32_t> &codes) {
    codes_.insert(codes_.end(), codes.begin(), codes.end());
    ends_.push_back(codes_.size());
    return static_cast<std::uint32_t>(ends_.size() - 2);
  }

  Span operator[](std::uint32_t number) const { return {codes_.data() + ends_[number], codes_.data() + ends_[number + 1]}; }

 private:
  std::vector<char32_t> codes_;
  std::vector<std::size_t> ends_{0};
};

/* A trie of byte strings in a double array (Aoe 1989): the child of a node is at its base, XOR the byte. */
class Trie {
 public:
  static constexpr std::int32_t root = 0;
  static constexpr std::int32_t none = -1;

  Trie() : units_(256) {}

  /* Builds a trie of keys with ids of at least 0; of equal keys the last one counts. Empty keys are left out. */
  explicit Trie(std::vector<std::pair<std::string_view, std::int32_t>> keys) {
    std::stable_sort(keys.begin(), keys.end(), [](const auto &left, const auto &right) { return left.first < right.first; });
    add_block();
    free_[0][0] &= ~std::uint64_t{1};
    units_[root].parent = none;
    struct Rest {
      std::int32_t node;
      std::size_t first, last, depth;
    };
    std::vector<Rest> rests{{root, 0, keys.size(), 0}};
    std::vector<Rest> children;
    std::vector<unsigned char> labels;
    while (!rests.empty()) {
      const Rest rest = rests.back();
      rests.pop_back();
      children.clear();
      labels.clear();
      for (std::size_t key = rest.first; key < rest.last; key += 1) {
        if (keys[key].first.size() == rest.depth) {
          if (rest.depth > 0) units_[static_cast<std::size_t>(rest.node)].value = keys[key].second;
          continue;
        }
        const auto label = static_cast<unsigned char>(keys[key].first[rest.depth]);
        if (labels.empty() || labels.back() != label) {
          labels.push_back(label);
          children.push_back({none, key, key, rest.depth + 1});
        }
        children.back().last = key + 1;
      }
      if (labels.empty()) continue;
      const std::uint32_t base = find_base(labels);
      units_[static_cast<std::size_t>(rest.node)].base = base;
      for (std::size_t child = 0; child < labels.size(); child += 1) {
        const std::uint32_t place = base ^ labels[child];
        free_[place >> 8][place >> 6 & 3] &= ~(std::uint64_t{1} << (place & 63));
        units_[place].parent = rest.node;
        children[child].node = static_cast<std::int32_t>(place);
        rests.push_back(children[child]);
      }
    }
    free_.clear();
    free_.shrink_to_fit();
  }

  std::int32_t step(std::int32_t node, unsigned char byte) const {
    const std::uint32_t child = units_[static_cast<std::size_t>(node)].base ^ byte;
    return units_[child].parent == node ? static_cast<std::int32_t>(child) : none;
  }

  std::int32_t step(std::int32_t node, std::string_view bytes) const {
    for (const char byte : bytes) {
      if (node == none) break;
      node = step(node, static_cast<unsigned char>(byte));
    }
    return node;
  }

  /* The id of the key that ends at a node, `kNoId` if none does. */
  std::int32_t value(std::int32_t node) const { return node == none ? kNoId : units_[static_cast<std::size_t>(node)].value; }

  std::int32_t find(std::string_view key) const { return value(step(root, key)); }

 private:
  struct Unit {
    std::uint32_t base = 0;
    std::int32_t parent = -2;
    std::int32_t value = kNoId;
  };

  /* Blocks in which free places are sought; older ones are nearly full. */
  static constexpr std::size_t kOpenBlocks = 8;

  void add_block() {
    units_.resize(units_.size() + 256);
    free_.push_back({~std::uint64_t{0}, ~std::uint64_t{0}, ~std::uint64_t{0}, ~std::uint64_t{0}});
  }

  bool is_free(std::uint32_t place) const { return free_[place >> 8][place >> 6 & 3] >> (place & 63) & 1; }

  std::uint32_t find_base(const std::vector<unsigned char> &labels) {
    const std::size_t oldest = free_.size() > kOpenBlocks ? free_.size() - kOpenBlocks : 0;
    for (std::size_t block = oldest; block < free_.size(); block += 1) {
      for (std::uint32_t word = 0; word < 4; word += 1) {
        if (free_[block][word] == 0) continue;
        for (std::uint32_t bit = 0; bit < 64; bit += 1) {
          const std::uint32_t place = static_cast<std::uint32_t>(block << 8) | word << 6 | bit;
          if (!is_free(place)) continue;
          const std::uint32_t base = place ^ labels[0];
          if (std::all_of(labels.begin() + 1, labels.end(), [&](unsigned char label) { return is_free(base ^ label); })) return base;
        }
      }
    }
    add_block();
    return static_cast<std::uint32_t>((free_.size() - 1) << 8);
  }

  std::vector<Unit> units_;
  std::vector<std::array<std::uint64_t, 4>> free_;
};

/* ---- Lines of the table files ---- */

/* The lines of a file, without the one behind the last line feed. */
inline std::vector<std::string_view> split_lines(std::string_view content) {
  std::vector<std::string_view> lines;
  while (!content.empty()) {
    const std::size_t end = std::min(content.find('\n'), content.size());
    lines.push_back(content.substr(0, end));
    content.remove_prefix(std::min(end + 1, content.size()));
  }
  return lines;
}

/* A line of words that are parted by single spaces. */
class Line {
 public:
  explicit Line(std::string_view line) : line_(line) {
    for (std::size_t first = 0; first <= line.size();) {
      const std::size_t end = std::min(line.find(' ', first), line.size());
      words_.push_back(line.substr(first, end - first));
      first = end + 1;
    }
  }

  std::size_t size() const { return words_.size(); }

  std::string_view word(std::size_t place) const {
    if (place >= words_.size()) fail("more words");
    return words_[place];
  }

  std::int64_t number(std::size_t place) const { return integer(word(place), 10); }

  /* A number from `least` up to, but without, `limit`. */
  std::int32_t number(std::size_t place, std::int64_t least, std::int64_t limit) const {
    const std::int64_t value = number(place);
    if (value < least || value >= limit) fail("a number within its range");
    return static_cast<std::int32_t>(value);
  }

  bool flag(std::size_t place) const { return word(place) == "1"; }

  char32_t code(std::size_t place) const { return to_code(word(place)); }

  std::vector<char32_t> codes(std::size_t from) const {
    std::vector<char32_t> codes;
    for (std::size_t place = from; place < words_.size(); place += 1) {
      if (!words_[place].empty()) codes.push_back(code(place));
    }
    return codes;
  }

  /* The code points of a key, which full stops part. */
  std::vector<char32_t> key(std::size_t place) const {
    std::vector<char32_t> codes;
    std::string_view rest = word(place);
    for (;;) {
      const std::size_t end = std::min(rest.find('.'), rest.size());
      codes.push_back(to_code(rest.substr(0, end)));
      if (end == rest.size()) return codes;
      rest.remove_prefix(end + 1);
    }
  }

  [[noreturn]] void fail(const char *rule) const {
    throw Error("the tables of a tokenizer must hold lines of rules with " + std::string(rule) + ", got " + std::string(line_.substr(0, 80)));
  }

 private:
  std::int64_t integer(std::string_view text, int base) const {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (error != std::errc() || end != text.data() + text.size()) fail("numbers");
    return value;
  }

  char32_t to_code(std::string_view text) const {
    const std::int64_t value = integer(text, 16);
    if (value < 0 || value > static_cast<std::int64_t>(kLastCode)) fail("code points");
    return static_cast<char32_t>(value);
  }

  std::string_view line_;
  std::vector<std::string_view> words_;
};

/* A decimal number, as JSON and Python write them, in whatever locale the program is; nothing where it is none. */
inline std::optional<double> parse_double(std::string_view text) {
  double value = 0;
#if defined(__cpp_lib_to_chars) && __cpp_lib_to_chars >= 201611L
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
#else
  std::istringstream stream{std::string(text)};
  stream.imbue(std::locale::classic());
  if (!(stream >> value) || stream.peek() != std::istringstream::traits_type::eof()) return std::nullopt;
#endif
  return value;
}

}  // namespace detail

/* ---- Tokenizers ---- */

/* The base class of tokenizers; `open_tokenizer` makes them. */
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /* The tokens of a text, without special tokens. */
  std::vector<Token> tokenize(std::string_view text, Unit unit = Unit::bytes) const {
    const detail::Decoded decoded(text);
    std::vector<Token> tokens = tokenize(decoded);
    if (const auto offsets = decoded.offsets(unit); !offsets.empty()) {
      for (Token &token : tokens) {
        token.start = offsets[token.start];
        token.end = offsets[token.end];
      }
    }
    return tokens;
  }

  /* As above; offsets count code points. */
  virtual std::vector<Token> tokenize(const detail::Decoded &text) const = 0;

  /*
   * A text as the model's training read it, its words parted by spaces, for MediaPipe Tasks, which keeps accents and
   * characters without width. Only WordPiece of `characters.txt` has it.
   */
  virtual std::string plain(std::string_view) const { throw Error("plain texts are made with characters.txt, got subwords.txt"); }

  /* The number of special tokens in a row of one or two texts. */
  std::size_t special_count(bool is_pair) const { return is_pair ? 2 + between_ : 2; }

  /* The inputs of a model for a text of at most `length` tokens, special ones included. */
  Row encode(const std::vector<Token> &tokens, std::size_t length) const { return encode(tokens, nullptr, length); }

  /* The inputs for two texts; of two long ones each gets half, and the longer one (on a tie, the second) an odd token. */
  Row encode(const std::vector<Token> &tokens, const std::vector<Token> &second, std::size_t length) const {
    return encode(tokens, &second, length);
  }

 protected:
  std::int32_t cls_ = 0, sep_ = 0;
  /* The number of end tokens between two texts. */
  std::size_t between_ = 1;
  std::int32_t second_segment_ = 1;

 private:
  Row encode(const std::vector<Token> &tokens, const std::vector<Token> *second, std::size_t length) const {
    const std::size_t special = special_count(second != nullptr);
    if (length < special) throw Error("a row must have room for " + std::to_string(special) + " special tokens, got " + std::to_string(length));
    const std::size_t room = length - special, first_size = tokens.size(), second_size = second ? second->size() : 0;
    const std::size_t half = (room + (first_size > second_size ? 1 : 0)) / 2;
    Row row;
    row.lengths[0] = std::min(first_size, std::max(room > second_size ? room - second_size : 0, half));
    row.lengths[1] = std::min(second_size, room - row.lengths[0]);
    const auto add = [&row](std::int32_t id, std::int32_t segment) {
      row.token_ids.push_back(id);
      row.segment_ids.push_back(segment);
    };
    add(cls_, 0);
    for (std::size_t place = 0; place < row.lengths[0]; place += 1) add(tokens[place].id, 0);
    add(sep_, 0);
    if (second == nullptr) return row;
    for (std::size_t mark = 1; mark < between_; mark += 1) add(sep_, 0);
    for (std::size_t place = 0; place < row.lengths[1]; place += 1) add((*second)[place].id, second_segment_);
    add(sep_, second_segment_);
    return row;
  }
};

namespace detail {

/* A character of a text that is being normalized, and the part of the text that it comes from. */
struct Character {
  char32_t code;
  std::uint32_t start, end;
};

using Text = std::vector<Character>;

/* A part of a text. */
struct Span {
  const Character *first;
  const Character *last;

  std::size_t size() const { return static_cast<std::size_t>(last - first); }
  const Character &operator[](std::size_t place) const { return first[place]; }
  const Character *begin() const { return first; }
  const Character *end() const { return last; }
  Span part(std::size_t from, std::size_t to) const { return {first + from, first + to}; }
};

inline Span span_of(const Text &text) { return {text.data(), text.data() + text.size()}; }

/* A word: its characters, and the same as UTF-8 with the end of each. */
class Word {
 public:
  /* Keeps a reference to the characters. */
  void assign(Span characters) {
    characters_ = characters;
    if (ends_.size() < characters.size()) {
      ends_.resize(characters.size());
      bytes_.resize(characters.size() * 4);
    }
    char *byte = bytes_.data();
    for (std::size_t place = 0; place < characters.size(); place += 1) {
      byte = write_utf8(characters[place].code, byte);
      ends_[place] = static_cast<std::uint32_t>(byte - bytes_.data());
    }
  }

  std::size_t size() const { return characters_.size(); }
  std::uint32_t begin_of(std::size_t place) const { return place ? ends_[place - 1] : 0; }
  std::uint32_t end_of(std::size_t place) const { return ends_[place]; }
  unsigned char byte(std::size_t place) const { return static_cast<unsigned char>(bytes_[place]); }
  char32_t code(std::size_t place) const { return characters_[place].code; }
  std::string_view part(std::size_t first, std::size_t last) const { return {bytes_.data() + begin_of(first), begin_of(last) - begin_of(first)}; }
  std::string_view text() const { return part(0, size()); }

  /* The token of some of the characters. */
  Token token(std::int32_t id, std::size_t first, std::size_t last, bool begins = false) const {
    return {id, characters_[first].start, characters_[last - 1].end, begins};
  }

  const Character &operator[](std::size_t place) const { return characters_[place]; }

 private:
  Span characters_{nullptr, nullptr};
  std::vector<char> bytes_;
  std::vector<std::uint32_t> ends_;
};

/* Cuts words into the longest pieces that are known; a word is unknown as a whole where a rest is not known. */
class PieceModel {
 public:
  PieceModel() = default;
  PieceModel(const std::vector<std::string_view> &pieces, std::size_t count, std::int32_t unknown, std::size_t longest)
      : unknown_(unknown), longest_(longest) {
    std::vector<std::pair<std::string_view, std::int32_t>> keys;
    for (std::size_t id = 0; id < count; id += 1) keys.emplace_back(pieces[id], static_cast<std::int32_t>(id));
    trie_ = Trie(std::move(keys));
    continuation_ = trie_.step(Trie::root, kContinuation);
  }

  void cut(const Word &word, std::vector<Token> &tokens) const {
    const std::size_t before = tokens.size(), size = word.size();
    if (size == 0) return;
    bool is_known = size <= longest_;
    for (std::size_t first = 0; is_known && first < size;) {
      std::int32_t node = first ? continuation_ : Trie::root, id = kNoId;
      std::size_t last = first;
      std::uint32_t byte = word.begin_of(first);
      for (std::size_t next = first; next < size && node != Trie::none; next += 1) {
        for (; byte < word.end_of(next) && node != Trie::none; byte += 1) node = trie_.step(node, word.byte(byte));
        if (const std::int32_t value = trie_.value(node); value != kNoId) {
          id = value;
          last = next + 1;
        }
      }
      is_known = id != kNoId;
      if (!is_known) break;
      tokens.push_back(word.token(id, first, last, first == 0));
      first = last;
    }
    if (is_known) return;
    tokens.resize(before);
    tokens.push_back(word.token(unknown_, 0, size, true));
  }

 private:
  Trie trie_;
  std::int32_t continuation_ = Trie::none, unknown_ = 0;
  std::size_t longest_ = 0;
};

/* BERT's WordPiece tokenizer (Devlin et al. 2019), by `vocab.txt` and `characters.txt`. */
class WordPiece final : public Tokenizer {
 public:
  using Tokenizer::tokenize;

  WordPiece(std::string_view vocabulary, std::string_view characters) {
    const auto pieces = split_lines(vocabulary);
    std::unordered_map<std::string_view, std::int32_t> ids;
    for (std::size_t id = 0; id < pieces.size(); id += 1) ids[pieces[id]] = static_cast<std::int32_t>(id);
    const auto find = [&ids](std::string_view piece) {
      const auto found = ids.find(piece);
      if (found == ids.end()) throw Error("vocab.txt must hold " + std::string(piece));
      return found->second;
    };
    const auto start = ids.find("<s>");
    const bool is_mpnet = start != ids.end() && start->second == 0;
    cls_ = find(is_mpnet ? "<s>" : "[CLS]");
    sep_ = find(is_mpnet ? "</s>" : "[SEP]");
    between_ = is_mpnet ? 2 : 1;
    model_ = PieceModel(pieces, pieces.size(), find("[UNK]"), kLongestWord);
    for (const std::string_view line : split_lines(characters)) read(Line(line));
  }

  std::vector<Token> tokenize(const Decoded &text) const override {
    std::vector<Token> tokens;
    tokens.reserve(text.codes.size() / 4 + 1);
    Word word;
    split(text, [&](Span characters) {
      word.assign(characters);
      model_.cut(word, tokens);
    });
    return tokens;
  }

  std::string plain(std::string_view text) const override {
    std::string plain;
    split(Decoded(text), [&](Span characters) {
      if (!plain.empty()) plain.push_back(' ');
      for (const Character &character : characters) append_utf8(character.code, plain);
    });
    return plain;
  }

 private:
  /* Characters; a longer word is unknown, as in google-research/bert. */
  static constexpr std::size_t kLongestWord = 100;

  /* A rule of a character: a bit for one that is a word by itself, what is done, and the number of its replacement. */
  enum : std::uint32_t { kIsolated = 1, kDropped = 2, kBlank = 4, kSyllable = 6, kReplaced = 8, kAction = 14, kShift = 4 };

  void read(const Line &line) {
    const std::string_view kind = line.word(0);
    if (kind == "replaced") {
      std::uint32_t &rule = rules_.at(line.code(1));
      rule = (rule & kIsolated) | (rule & kAction ? rule & ~std::uint32_t{kIsolated} : kReplaced | replacements_.add(line.codes(2)) << kShift);
      return;
    }
    const std::uint32_t bits = kind == "dropped" ? kDropped : kind == "blank" ? kBlank : kind == "syllables" ? kSyllable : kIsolated;
    if (bits == kIsolated && kind != "isolated") line.fail("dropped, blank, replaced, syllables or isolated");
    for (char32_t code = line.code(1), last = line.code(2); code <= last; code += 1) {
      std::uint32_t &rule = rules_.at(code);
      if (bits == kIsolated) rule |= kIsolated;
      else if ((rule & kAction) == 0 || (rule & kAction) == kReplaced) rule = (rule & kIsolated) | bits;
    }
  }

  /* Calls a function with each word of a text, which it may not keep. */
  template <typename Use>
  void split(const Decoded &text, Use use) const {
    Text word;
    const auto close = [&] {
      if (word.empty()) return;
      use(span_of(word));
      word.clear();
    };
    const auto add = [&](char32_t code, std::uint32_t place) {
      const bool is_alone = rules_[code] & kIsolated;
      if (is_alone || code == kSpace) close();
      if (code == kSpace) return;
      word.push_back({code, place, place + 1});
      if (is_alone) close();
    };
    for (std::uint32_t place = 0; place < text.codes.size(); place += 1) {
      const char32_t code = text.codes[place];
      const std::uint32_t rule = rules_[code];
      switch (rule & kAction) {
        case 0: add(code, place); break;
        case kDropped: break;
        case kBlank: close(); break;
        case kSyllable: {
          char32_t letters[3];
          const std::size_t count = Hangul::is_syllable(code) ? Hangul::decompose(code, letters) : 0;
          for (std::size_t letter = 0; letter < count; letter += 1) add(letters[letter], place);
          break;
        }
        default:
          for (const char32_t part : replacements_[rule >> kShift]) add(part, place);
      }
    }
    close();
  }

  PieceModel model_;
  CodeTable<std::uint32_t> rules_;
  Sequences replacements_;
};

}  // namespace detail

namespace detail {

/* The classes of characters, a bit each. */
class Classes {
 public:
  /* The bit of a class, which is 0 and in no character where no line of the rules fills the class. */
  std::uint64_t mask(std::string_view name) const {
    const auto found = masks_.find(name);
    return found == masks_.end() ? 0 : found->second;
  }

  bool contains(std::uint64_t mask, char32_t code) const { return (flags_[code] & mask) != 0; }
  std::uint64_t operator[](char32_t code) const { return flags_[code]; }

  /* Adds characters to a class; returns false where there is no bit for another class. */
  bool add(std::string_view name, char32_t first, char32_t last) {
    auto found = masks_.find(name);
    if (found == masks_.end()) {
      if (masks_.size() == 64) return false;
      found = masks_.emplace(std::string(name), std::uint64_t{1} << masks_.size()).first;
    }
    for (char32_t code = first; code <= last; code += 1) flags_.at(code) |= found->second;
    return true;
  }

 private:
  std::map<std::string, std::uint64_t, std::less<>> masks_;
  CodeTable<std::uint64_t> flags_;
};

/* What replaces a character: a code point, and 1 for an inserted one, 0 for one that replaces another, -N for one before N that go. */
struct Change {
  char32_t code;
  std::int32_t kind;
};

/* Appends a changed text; an inserted character has the place of the one before (`NormalizedString` of `tokenizers`). */
inline void apply_changes(Span text, const std::vector<Change> &changes, Text &changed) {
  std::size_t place = 0;
  for (const auto [code, kind] : changes) {
    Character source{code, 0, 0};
    if (kind <= 0 || place > 0) {
      source = text[std::min(kind > 0 ? place - 1 : place, text.size() - 1)];
      source.code = code;
    }
    if (kind <= 0) place += 1 + static_cast<std::size_t>(-kind);
    changed.push_back(source);
  }
}

/* A step of the normalization of a text. */
class Step {
 public:
  enum class Kind { characters, spaced, strip, replace, collapse, decomposed, composed, graphemes };

  explicit Step(const Line &line) : name_(line.word(1)) {
    static constexpr std::array<std::string_view, 8> names{"characters", "spaced", "strip", "replace", "collapse", "decomposed", "composed", "graphemes"};
    const auto found = std::find(names.begin(), names.end(), name_);
    if (found == names.end()) line.fail("a step that is known");
    kind_ = static_cast<Kind>(found - names.begin());
    if (kind_ == Kind::spaced) first_class_ = line.word(2);
    if (kind_ == Kind::strip) {
      strips_left_ = line.flag(2);
      strips_right_ = line.flag(3);
    }
    if (kind_ == Kind::replace) {
      key_ = line.key(2);
      replacement_ = line.codes(3);
    }
    if (kind_ == Kind::collapse) {
      first_class_ = line.word(2);
      second_class_ = line.word(3);
      replacement_ = line.codes(4);
    }
  }

  void add_map(const Line &line) {
    const auto key = line.key(1);
    const std::uint32_t number = replacements_.add(line.codes(2));
    if (key.size() == 1) maps_.at(key[0]) = number + 1;
    else longer_maps_[std::u32string(key.begin(), key.end())] = number;
    // A longer key needs all of its characters, so that those behind the first tell whether one may match.
    for (std::size_t place = key.size() == 1 ? 0 : 1; place < key.size(); place += 1) active_.at(key[place]) = true;
  }

  void add_order(const Line &line) {
    orders_.at(line.code(1)) = static_cast<std::uint8_t>(line.number(2, 0, 255) + 1);
    active_.at(line.code(1)) = true;
  }

  void add_pair(const Line &line) {
    pairs_[pair_key(line.code(1), line.code(2))] = line.code(3);
    active_.at(line.code(2)) = true;
  }

  /* To call once all lines are read. */
  void finish(const Classes &classes) {
    first_mask_ = classes.mask(first_class_);
    second_mask_ = classes.mask(second_class_);
    if (kind_ != Kind::decomposed && kind_ != Kind::composed) return;
    for (char32_t code = Hangul::first; code < Hangul::first + Hangul::count; code += 1) active_.at(code) = true;
    for (char32_t number = 0; number < Hangul::tails; number += 1) {
      active_.at(Hangul::vowel + number) = true;
      active_.at(Hangul::tail + number) = true;
    }
  }

  /* Changes a text; `other` is a text whose memory is used. */
  void apply(Text &text, Text &other, const Classes &classes) const {
    const bool has_tables = kind_ == Kind::characters || kind_ >= Kind::decomposed;
    if (has_tables && std::none_of(text.begin(), text.end(), [this](const Character &character) { return active_[character.code]; })) return;
    other.clear();
    switch (kind_) {
      case Kind::characters: replace_characters(text, other); break;
      case Kind::spaced: put_spaces(text, other, classes); break;
      case Kind::strip: strip(text, other, classes); break;
      case Kind::replace: replace_key(text, other); break;
      case Kind::collapse: collapse(text, other, classes); break;
      case Kind::decomposed:
      case Kind::composed: normalize_form(text, other); break;
      case Kind::graphemes: replace_graphemes(text, other, classes);
    }
    text.swap(other);
  }

 private:
  static std::uint64_t pair_key(char32_t first, char32_t second) { return std::uint64_t{first} << 32 | second; }

  void replace_characters(const Text &text, Text &out) const {
    for (const Character &character : text) {
      const std::uint32_t map = maps_[character.code];
      if (map == 0) out.push_back(character);
      else for (const char32_t code : replacements_[map - 1]) out.push_back({code, character.start, character.end});
    }
  }

  void put_spaces(const Text &text, Text &out, const Classes &classes) const {
    for (const Character &character : text) {
      if (!classes.contains(first_mask_, character.code)) {
        out.push_back(character);
        continue;
      }
      for (const char32_t code : {kSpace, character.code, kSpace}) out.push_back({code, character.start, character.end});
    }
  }

  void strip(const Text &text, Text &out, const Classes &classes) const {
    const std::uint64_t white = classes.mask("white");
    std::size_t first = 0, last = text.size();
    while (strips_left_ && first < last && classes.contains(white, text[first].code)) first += 1;
    while (strips_right_ && first < last && classes.contains(white, text[last - 1].code)) last -= 1;
    out.assign(text.begin() + static_cast<std::ptrdiff_t>(first), text.begin() + static_cast<std::ptrdiff_t>(last));
  }

  /* Replaces a sequence of characters, each with the place of its last one. */
  void replace_key(const Text &text, Text &out) const {
    const auto matches = [&](std::size_t place) {
      if (text.size() - place < key_.size()) return false;
      for (std::size_t index = 0; index < key_.size(); index += 1) {
        if (text[place + index].code != key_[index]) return false;
      }
      return true;
    };
    for (std::size_t place = 0; place < text.size();) {
      if (!matches(place)) {
        out.push_back(text[place++]);
        continue;
      }
      place += key_.size();
      for (const char32_t code : replacement_) out.push_back({code, text[place - 1].start, text[place - 1].end});
    }
  }

  /* Replaces runs of two and more characters of a class, and characters of another that stand alone. */
  void collapse(const Text &text, Text &out, const Classes &classes) const {
    const auto is_within = [&](std::size_t place) { return place < text.size() && classes.contains(first_mask_, text[place].code); };
    for (std::size_t place = 0; place < text.size(); place += 1) {
      const bool is_next = is_within(place + 1);
      const bool is_run = is_within(place) && (is_next || (place > 0 && is_within(place - 1)));
      if (is_run && is_next) continue;
      if (!is_run && !classes.contains(second_mask_, text[place].code)) out.push_back(text[place]);
      else for (const char32_t code : replacement_) out.push_back({code, text[place].start, text[place].end});
    }
  }

  /*
   * A normalization form of Unicode (Standard Annex 15). Only the parts of a text that may change are normalized: from
   * the character before those that are active up to the next that is not.
   */
  void normalize_form(const Text &text, Text &out) const {
    std::vector<Change> changes, composed;
    for (std::size_t place = 0; place < text.size();) {
      if (!active_[text[place].code]) {
        out.push_back(text[place++]);
        continue;
      }
      std::size_t first = place;
      if (first > 0) {
        first -= 1;
        out.pop_back();
      }
      while (place < text.size() && active_[text[place].code]) place += 1;
      const Span part = span_of(text).part(first, place);
      changes.clear();
      decompose(part, changes);
      if (kind_ == Kind::composed) {
        composed.clear();
        compose(changes, composed);
      }
      apply_changes(part, kind_ == Kind::composed ? composed : changes, out);
    }
  }

  /* Decomposed characters, marks in canonical order, as changes. */
  void decompose(Span text, std::vector<Change> &changes) const {
    std::size_t marks = 0;  // where the marks behind the last other character begin
    const auto close = [&] {
      std::stable_sort(changes.begin() + static_cast<std::ptrdiff_t>(marks), changes.end(),
                       [this](const Change &left, const Change &right) { return orders_[left.code] < orders_[right.code]; });
    };
    const auto add = [&](char32_t code, std::int32_t kind) {
      if (orders_[code] == 0) close();
      changes.push_back({code, kind});
      if (orders_[code] == 0) marks = changes.size();
    };
    for (const Character &character : text) {
      std::int32_t kind = 0;
      if (const std::uint32_t map = maps_[character.code]; map != 0) {
        for (const char32_t code : replacements_[map - 1]) {
          add(code, kind);
          kind = 1;
        }
      } else if (Hangul::is_syllable(character.code)) {
        char32_t letters[3];
        const std::size_t count = Hangul::decompose(character.code, letters);
        for (std::size_t letter = 0; letter < count; letter += 1) add(letters[letter], letter ? 1 : 0);
      } else {
        add(character.code, 0);
      }
    }
    close();
  }

  /* Composes decomposed changes; a mark that is kept blocks others of its class and lower ones. */
  void compose(const std::vector<Change> &changes, std::vector<Change> &composed) const {
    std::ptrdiff_t starter = -1;
    int blocked = -1;
    for (const auto [code, kind] : changes) {
      const int order = std::max(orders_[code] - 1, 0);
      const bool may_join = starter >= 0 && !(blocked >= order && blocked >= 0);
      if (const char32_t composite = may_join ? join(composed[static_cast<std::size_t>(starter)].code, code) : 0; composite != 0) {
        Change &first = composed[static_cast<std::size_t>(starter)];
        first = {composite, first.kind + kind - 1};
        continue;
      }
      composed.push_back({code, kind});
      if (order == 0) {
        starter = static_cast<std::ptrdiff_t>(composed.size()) - 1;
        blocked = -1;
      } else if (starter >= 0) {
        blocked = order;
      }
    }
  }

  /* The character that two compose, 0 if they compose none. */
  char32_t join(char32_t first, char32_t second) const {
    if (first >= Hangul::lead && first < Hangul::lead + Hangul::leads && second >= Hangul::vowel && second < Hangul::vowel + Hangul::vowels) {
      return Hangul::first + ((first - Hangul::lead) * Hangul::vowels + second - Hangul::vowel) * Hangul::tails;
    }
    const bool is_open = Hangul::is_syllable(first) && (first - Hangul::first) % Hangul::tails == 0;
    if (is_open && second > Hangul::tail && second < Hangul::tail + Hangul::tails) return first + second - Hangul::tail;
    const auto found = pairs_.find(pair_key(first, second));
    return found == pairs_.end() ? 0 : found->second;
  }

  /* Bytes; longer graphemes are replaced character by character. */
  static constexpr std::size_t kLongestGrapheme = 5;

  /* SentencePiece's replacements, as `tokenizers` makes them: of graphemes, or of their characters. */
  void replace_graphemes(const Text &text, Text &out, const Classes &classes) const {
    std::vector<Change> changes;
    changes.reserve(text.size());
    const auto put = [&](std::size_t count, Sequences::Span codes) {
      for (std::size_t place = 0; place < codes.size(); place += 1) changes.push_back({codes.first[place], place < count ? 0 : 1});
      if (codes.size() < count && !changes.empty()) changes.back().kind -= static_cast<std::int32_t>(count - codes.size());
    };
    GraphemeBreaks breaks(classes);
    for (std::size_t first = 0, last = 0; first < text.size(); first = last) {
      std::size_t bytes = 0;
      do bytes += utf8_width(text[last].code), breaks.pass(text[last].code), last += 1;
      while (last < text.size() && breaks.joins(text[last].code));
      const Span grapheme = span_of(text).part(first, last);
      if (const std::optional<std::uint32_t> whole = bytes > kLongestGrapheme ? std::nullopt : find_prefix(grapheme)) {
        put(grapheme.size(), replacements_[*whole]);
        continue;
      }
      for (const Character &character : grapheme) {
        if (const std::uint32_t map = maps_[character.code]; map != 0) put(1, replacements_[map - 1]);
        else changes.push_back({character.code, 0});
      }
    }
    apply_changes(span_of(text), changes, out);
  }

  /* The replacement of the shortest beginning of a grapheme that has one. */
  std::optional<std::uint32_t> find_prefix(Span grapheme) const {
    if (const std::uint32_t map = maps_[grapheme[0].code]; map != 0) return map - 1;
    std::u32string key(1, grapheme[0].code);
    for (std::size_t place = 1; place < grapheme.size(); place += 1) {
      key.push_back(grapheme[place].code);
      if (const auto found = longer_maps_.find(key); found != longer_maps_.end()) return found->second;
    }
    return std::nullopt;
  }

  /* Where graphemes end (Unicode Standard Annex 29, of which flags are longer than what is replaced). */
  class GraphemeBreaks {
   public:
    explicit GraphemeBreaks(const Classes &classes) : classes_(classes) {
      static constexpr std::array<std::string_view, 11> names{"control", "extend", "spacing", "prepend", "picture", "consonant",
                                                              "linker", "between", "lead", "vowel", "tail"};
      for (std::size_t place = 0; place < names.size(); place += 1) masks_[place] = classes.mask(names[place]);
    }

    /* Goes on behind a character. */
    void pass(char32_t code) {
      const std::uint64_t flags = classes_[code];
      if (flags & masks_[kPicture]) picture_ = Picture::open;
      else if (picture_ == Picture::open && code == kJoiner) picture_ = Picture::joined;
      else if (picture_ != Picture::open || !(flags & masks_[kExtend])) picture_ = Picture::none;
      if (flags & masks_[kConsonant]) conjunct_ = Conjunct::open;
      else if (conjunct_ != Conjunct::none && (flags & masks_[kLinker])) conjunct_ = Conjunct::linked;
      else if (!(flags & masks_[kBetween])) conjunct_ = Conjunct::none;
      before_ = code;
      flags_before_ = flags;
    }

    /* Whether a character belongs to the grapheme of the one before. */
    bool joins(char32_t code) const {
      const std::uint64_t flags = classes_[code];
      if ((flags_before_ | flags) & masks_[kControl]) return false;
      if (flags & (masks_[kExtend] | masks_[kSpacing]) || flags_before_ & masks_[kPrepend]) return true;
      if (picture_ == Picture::joined && flags & masks_[kPicture]) return true;
      if (conjunct_ == Conjunct::linked && flags & masks_[kConsonant]) return true;
      const bool is_syllable = Hangul::is_syllable(before_);
      const bool is_open = is_syllable && (before_ - Hangul::first) % Hangul::tails == 0;
      if (flags_before_ & masks_[kLead]) return flags & (masks_[kLead] | masks_[kVowel]) || Hangul::is_syllable(code);
      if (flags_before_ & masks_[kVowel] || is_open) return flags & (masks_[kVowel] | masks_[kTail]);
      return (flags_before_ & masks_[kTail] || is_syllable) && flags & masks_[kTail];
    }

   private:
    enum : std::size_t { kControl, kExtend, kSpacing, kPrepend, kPicture, kConsonant, kLinker, kBetween, kLead, kVowel, kTail };
    enum class Picture { none, open, joined };
    enum class Conjunct { none, open, linked };
    static constexpr char32_t kJoiner = 0x200D;

    const Classes &classes_;
    std::array<std::uint64_t, 11> masks_{};
    Picture picture_ = Picture::none;
    Conjunct conjunct_ = Conjunct::none;
    char32_t before_ = 0;
    std::uint64_t flags_before_ = 0;
  };

  std::string name_, first_class_, second_class_;
  Kind kind_ = Kind::characters;
  bool strips_left_ = false, strips_right_ = false;
  std::vector<char32_t> key_, replacement_;
  std::uint64_t first_mask_ = 0, second_mask_ = 0;
  Sequences replacements_;
  CodeTable<std::uint32_t> maps_;  // the number of a replacement, and 1
  std::map<std::u32string, std::uint32_t> longer_maps_;
  CodeTable<std::uint8_t> orders_;  // the combining class of a mark, and 1
  std::unordered_map<std::uint64_t, char32_t> pairs_;
  CodeTable<std::uint8_t> active_;  // whether a character may change, or change others
};

/* An added token, which is matched before a text is split. */
struct AddedToken {
  bool is_special;
  std::int32_t id;
  bool is_single, takes_left, takes_right;
  std::vector<char32_t> codes;
};

/* The added tokens that are matched at one stage. */
class AddedTokens {
 public:
  void add(AddedToken token) {
    if (token.codes.empty()) return;
    std::uint8_t &group = starts_.at(token.codes[0]);
    if (group == 0) group = 1;
    auto &tokens = tokens_[token.codes[0]];
    // Longer ones are tried before; of equal ones the first.
    const auto place = std::find_if(tokens.begin(), tokens.end(), [&](const AddedToken &other) { return other.codes.size() < token.codes.size(); });
    tokens.insert(place, std::move(token));
  }

  /* Calls `use(part, id)` with the parts of a text between added tokens, and with these; special ones are text, with no id. */
  template <typename Use>
  void separate(Span text, const Classes &classes, Use use) const {
    const std::uint64_t word = classes.mask("word"), white = classes.mask("white");
    const auto is = [&](std::uint64_t mask, std::size_t place) { return place < text.size() && classes.contains(mask, text[place].code); };
    std::size_t first = 0;
    for (std::size_t start = 0; start < text.size();) {
      const AddedToken *token = starts_[text[start].code] ? match(text, start) : nullptr;
      const std::size_t end = start + (token ? token->codes.size() : 1);
      const bool stands_alone = token && !((start > 0 && is(word, start - 1)) || is(word, end));
      if (token && !token->is_special && (!token->is_single || stands_alone)) {
        std::size_t from = start, to = end;
        while (token->takes_left && from > first && is(white, from - 1)) from -= 1;
        while (token->takes_right && is(white, to)) to += 1;
        if (first < from) use(text.part(first, from), kNoId);
        use(text.part(from, to), token->id);
        first = to;
      }
      start = end;
    }
    if (first < text.size()) use(text.part(first, text.size()), kNoId);
  }

 private:
  const AddedToken *match(Span text, std::size_t start) const {
    for (const AddedToken &token : tokens_.at(text[start].code)) {
      if (text.size() - start < token.codes.size()) continue;
      std::size_t place = 1;
      while (place < token.codes.size() && text[start + place].code == token.codes[place]) place += 1;
      if (place == token.codes.size()) return &token;
    }
    return nullptr;
  }

  CodeTable<std::uint8_t> starts_;
  std::unordered_map<char32_t, std::vector<AddedToken>> tokens_;
};

/* Splits texts into words. */
class Splitter {
 public:
  explicit Splitter(const Line &line) {
    static constexpr std::array<std::string_view, 5> names{"white", "marks", "words", "bytes", "runs"};
    const auto found = std::find(names.begin(), names.end(), line.word(1));
    if (found == names.end()) line.fail("a split that is known");
    kind_ = static_cast<Kind>(found - names.begin());
    if (kind_ == Kind::words) {
      mark_ = line.code(2);
      scheme_ = line.word(3);
      splits_ = line.flag(4);
    }
    if (kind_ == Kind::bytes) has_prefix_ = line.flag(2);
  }

  /* To call once all lines are read. */
  void finish(const Classes &classes) {
    for (std::size_t kind = 0; kind < 3; kind += 1) kind_masks_[kind] = classes.mask(std::array{"letter", "number", "space"}[kind]);
    for (const char name : std::string_view("strevmld")) letters_[static_cast<std::size_t>(name - 'a')] = classes.mask({&name, 1});
    separators_ = classes.mask(kind_ == Kind::white ? "white" : "punctuation");
  }

  /* Calls a function with each word of a part of a text; `word` is a text whose memory is used. */
  template <typename Use>
  void split(Span text, const Classes &classes, Text &word, Use use) const {
    if (kind_ == Kind::white || kind_ == Kind::marks) {
      cut(text, [&](char32_t code) { return classes.contains(separators_, code); }, kind_ == Kind::white ? Place::dropped : Place::alone, use);
    } else if (kind_ == Kind::words) {
      word.clear();
      const bool is_prefixed = text.size() > 0 && (scheme_ == "always" || (scheme_ == "first" && text[0].start == 0));
      if (is_prefixed && text[0].code != mark_ && text[0].code != kSpace) word.push_back({mark_, text[0].start, text[0].end});
      for (const Character &character : text) word.push_back({character.code == kSpace ? mark_ : character.code, character.start, character.end});
      if (splits_) cut(span_of(word), [&](char32_t code) { return code == mark_; }, Place::first, use);
      else use(span_of(word));
    } else if (kind_ == Kind::bytes && has_prefix_ && text.size() > 0 && text[0].code != kSpace) {
      word.assign(1, {kSpace, text[0].start, text[0].end});
      word.insert(word.end(), text.begin(), text.end());
      cut_runs(span_of(word), classes, use);
    } else {
      cut_runs(text, classes, use);
    }
  }

 private:
  enum class Kind { white, marks, words, bytes, runs };
  enum class Place { dropped, alone, first };
  enum Run : std::uint8_t { letter, number, space, other };

  /* Parts of a text; a separator is dropped, or is the first or all of its part. */
  template <typename IsSeparator, typename Use>
  static void cut(Span text, IsSeparator is_separator, Place place, Use use) {
    std::size_t first = 0;
    for (std::size_t next = 0; next < text.size(); next += 1) {
      if (!is_separator(text[next].code)) continue;
      if (first < next) use(text.part(first, next));
      first = place == Place::first ? next : next + 1;
      if (place == Place::alone) use(text.part(next, next + 1));
    }
    if (first < text.size()) use(text.part(first, text.size()));
  }

  template <typename Use>
  void cut_runs(Span text, const Classes &classes, Use use) const {
    for (std::size_t first = 0, last = 0; first < text.size(); first = last) {
      last = kind_ == Kind::bytes ? gpt2_end(text, first, classes) : llama_end(text, first, classes);
      use(text.part(first, last));
    }
  }

  Run run_of(char32_t code, const Classes &classes) const {
    const std::uint64_t flags = classes[code];
    return flags & kind_masks_[0] ? letter : flags & kind_masks_[1] ? number : flags & kind_masks_[2] ? space : other;
  }

  std::size_t run_end(Span text, std::size_t start, Run run, const Classes &classes) const {
    while (start < text.size() && run_of(text[start].code, classes) == run) start += 1;
    return start;
  }

  /* The number of letters of a contraction behind an apostrophe, 0 for none; `is` says whether a letter is at a place. */
  template <typename Is>
  static std::size_t contraction(Is is) {
    for (const std::string_view name : {"s", "t", "re", "ve", "m", "ll", "d"}) {
      if (is(name[0], 0) && (name.size() == 1 || is(name[1], 1))) return name.size();
    }
    return 0;
  }

  /* The last space of several belongs to the next word. */
  static std::size_t spaces_end(Span text, std::size_t first, std::size_t end) { return end < text.size() && end - first > 1 ? end - 1 : end; }

  /* GPT-2's words: 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+ */
  std::size_t gpt2_end(Span text, std::size_t first, const Classes &classes) const {
    if (text[first].code == '\'') {
      const auto is = [&](char name, std::size_t place) {
        return first + 1 + place < text.size() && text[first + 1 + place].code == static_cast<char32_t>(name);
      };
      if (const std::size_t rest = contraction(is)) return first + 1 + rest;
    }
    const bool opens = text[first].code == kSpace && first + 1 < text.size() && run_of(text[first + 1].code, classes) != space;
    const std::size_t start = opens ? first + 1 : first;
    const Run run = run_of(text[start].code, classes);
    const std::size_t end = run_end(text, start + 1, run, classes);
    return run == space ? spaces_end(text, first, end) : end;
  }

  /* Llama 3's words: (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+ */
  std::size_t llama_end(Span text, std::size_t first, const Classes &classes) const {
    const auto is_line_end = [&](std::size_t place) { return place < text.size() && (text[place].code == 0xA || text[place].code == 0xD); };
    const auto is_run = [&](std::size_t place, Run wanted) { return place < text.size() && run_of(text[place].code, classes) == wanted; };
    if (text[first].code == '\'') {
      const auto is = [&](char name, std::size_t place) {
        return first + 1 + place < text.size() && classes.contains(letters_[static_cast<std::size_t>(name - 'a')], text[first + 1 + place].code);
      };
      if (const std::size_t rest = contraction(is)) return first + 1 + rest;
    }
    const Run run = run_of(text[first].code, classes);
    const bool opens = run != number && !is_line_end(first) && is_run(first + 1, letter);
    if (run == letter || opens) return run_end(text, first + 1, letter, classes);
    if (run == number) return std::min(run_end(text, first, number, classes), first + 3);
    const std::size_t start = text[first].code == kSpace && is_run(first + 1, other) ? first + 1 : first;
    if (run_of(text[start].code, classes) == other) {
      std::size_t end = run_end(text, start, other, classes);
      while (is_line_end(end)) end += 1;
      return end;
    }
    const std::size_t end = run_end(text, first, space, classes);
    for (std::size_t place = end; place > first; place -= 1) {
      if (is_line_end(place - 1)) return place;
    }
    return spaces_end(text, first, end);
  }

  Kind kind_ = Kind::white;
  char32_t mark_ = 0;
  std::string scheme_;
  bool splits_ = false, has_prefix_ = false;
  std::array<std::uint64_t, 3> kind_masks_{};
  std::array<std::uint64_t, 26> letters_{};
  std::uint64_t separators_ = 0;
};

/* Unigram (Kudo 2018): the tokens with the highest sum of scores (Viterbi 1967); of equal sums the first that is found. */
class UnigramModel {
 public:
  UnigramModel() = default;
  UnigramModel(const std::vector<std::string_view> &pieces, std::vector<double> scores, std::int32_t unknown)
      : scores_(std::move(scores)), unknown_(unknown) {
    std::vector<std::pair<std::string_view, std::int32_t>> keys;
    for (std::size_t id = 0; id < scores_.size(); id += 1) keys.emplace_back(pieces[id], static_cast<std::int32_t>(id));
    trie_ = Trie(std::move(keys));
    for (const double score : scores_) unknown_score_ = std::min(unknown_score_, score);
    unknown_score_ -= kUnknownPenalty;
    find_stable(pieces);
  }

  /* The best tokens up to a character: the sum of their scores, and where the last of them begins. */
  struct Best {
    double score = 0;
    std::int32_t first = -1, id = 0;
  };

  /* `best` keeps its memory between calls. */
  void cut(const Word &word, std::vector<Best> &best, std::vector<Token> &tokens) const {
    const std::size_t size = word.size(), before = tokens.size();
    if (const std::int32_t id = trie_.find(word.text()); id != kNoId && is_stable_[static_cast<std::size_t>(id)]) {
      tokens.push_back(word.token(id, 0, size));
      return;
    }
    best.assign(size + 1, Best());
    for (std::size_t first = 0; first < size; first += 1) {
      const double sum = best[first].score;
      const auto offer = [&](std::size_t last, double score, std::int32_t id) {
        if (best[last].first < 0 || score + sum > best[last].score) best[last] = {score + sum, static_cast<std::int32_t>(first), id};
      };
      bool is_known = false;
      std::int32_t node = Trie::root;
      std::uint32_t byte = word.begin_of(first);
      for (std::size_t next = first; next < size; next += 1) {
        for (; byte < word.end_of(next) && node != Trie::none; byte += 1) node = trie_.step(node, word.byte(byte));
        if (node == Trie::none) break;
        if (const std::int32_t id = trie_.value(node); id != kNoId) {
          offer(next + 1, scores_[static_cast<std::size_t>(id)], id);
          is_known = is_known || next == first;
        }
      }
      if (!is_known) offer(first + 1, unknown_score_, unknown_);
    }
    for (std::size_t last = size; last > 0;) {
      const auto first = static_cast<std::size_t>(best[last].first);
      const std::int32_t id = best[last].id;
      // Unknown characters side by side are one token.
      if (id == unknown_ && tokens.size() > before && tokens.back().id == id) tokens.back().start = word[first].start;
      else tokens.push_back(word.token(id, first, last));
      last = first;
    }
    std::reverse(tokens.begin() + static_cast<std::ptrdiff_t>(before), tokens.end());
  }

 private:
  /* Below the lowest score (`kUnkPenalty` of google/sentencepiece). */
  static constexpr double kUnknownPenalty = 10;

  /* Finds the tokens that are the best of their own text: a word that is one needs no search. */
  void find_stable(const std::vector<std::string_view> &pieces) {
    is_stable_.assign(scores_.size(), false);
    std::vector<Best> best;
    std::vector<Token> tokens;
    Text characters;
    Word word;
    for (std::size_t id = 0; id < scores_.size(); id += 1) {
      characters.clear();
      for (std::size_t byte = 0; byte < pieces[id].size();) characters.push_back({decode_utf8(pieces[id], byte), 0, 0});
      word.assign(span_of(characters));
      tokens.clear();
      cut(word, best, tokens);
      is_stable_[id] = tokens.size() == 1 && tokens[0].id == static_cast<std::int32_t>(id);
    }
  }

  Trie trie_;
  std::vector<bool> is_stable_;
  std::vector<double> scores_;
  double unknown_score_ = std::numeric_limits<double>::infinity();
  std::int32_t unknown_ = 0;
};

/* BPE (Radford et al. 2019): the pair of the lowest rank is merged first, the leftmost of several. */
class MergeModel {
 public:
  struct Rules {
    std::vector<std::int32_t> byte_ids;
    std::unordered_map<char32_t, std::int32_t> letters;
    std::vector<std::array<std::int32_t, 3>> merges;
    std::size_t word_count = 0;  // tokens that a word may be as a whole, without merges
    char32_t mark = 0;
  };

  MergeModel() = default;
  MergeModel(const std::vector<std::string_view> &pieces, const Rules &rules)
      : mark_(rules.mark), word_count_(static_cast<std::int32_t>(rules.word_count)), letters_(rules.letters) {
    std::copy(rules.byte_ids.begin(), rules.byte_ids.end(), byte_ids_.begin());
    for (const auto &[left, right, merged] : rules.merges) pairs_.add(left, right, merged, rules.merges.size());
    is_parted_by_mark_ = letters_.count(mark_) > 0;
    for (const auto &[left, right, merged] : rules.merges) is_parted_by_mark_ = is_parted_by_mark_ && !crosses_mark(pieces, left, right);
    index(pieces);
  }

  /* A token of a word whose merges go on, and the tokens beside it. */
  struct Symbol {
    std::int32_t id;
    std::uint32_t start, end;
    std::int32_t before, behind;
  };
  /* A merge of the symbol `left` and the one behind it. */
  struct Merge {
    std::uint32_t rank;
    std::int32_t id, left, left_id, right_id;
    bool operator<(const Merge &other) const { return rank != other.rank ? rank > other.rank : left > other.left; }
  };
  /* Memory that is kept between calls. */
  struct Scratch {
    std::vector<Symbol> symbols;
    std::vector<Merge> merges;
  };

  void cut(const Word &word, Scratch &scratch, std::vector<Token> &tokens) const {
    if (word.size() == 0) return;
    if (word_count_ > 0) {
      if (const std::int32_t id = trie_.find(word.text()); id != kNoId && id < word_count_) {
        tokens.push_back(word.token(id, 0, word.size()));
        return;
      }
    }
    // No merge reaches over the start of a run of marks where none joins a mark to another character.
    for (std::size_t first = 0, last = 0; first < word.size(); first = last) {
      last = is_parted_by_mark_ ? chunk_end(word, first) : word.size();
      const std::int32_t id = trie_.find(word.part(first, last));
      if (id != kNoId && is_stable_[static_cast<std::size_t>(id)]) tokens.push_back(word.token(id, first, last));
      else merge(word, first, last, scratch, tokens);
    }
  }

 private:
  static constexpr std::uint32_t kNoRank = std::numeric_limits<std::uint32_t>::max();

  /* Pairs of tokens with the rank of their merge and its token, in a hash table with open addressing. */
  class Pairs {
   public:
    struct Entry {
      std::uint64_t key = kFree;
      std::uint32_t rank = 0;
      std::int32_t id = 0;
    };

    void add(std::int32_t left, std::int32_t right, std::int32_t id, std::size_t total) {
      if (entries_.empty()) {
        while ((std::size_t{1} << bits_) * 2 < total * 3) bits_ += 1;
        entries_.resize(std::size_t{1} << bits_);
      }
      Entry &entry = entries_[place_of(key_of(left, right))];
      const bool is_new = entry.key == kFree;
      entry = {key_of(left, right), count_, id};
      if (is_new) count_ += 1;
    }

    const Entry *find(std::int32_t left, std::int32_t right) const {
      if (entries_.empty()) return nullptr;
      const Entry &entry = entries_[place_of(key_of(left, right))];
      return entry.key == kFree ? nullptr : &entry;
    }

   private:
    static constexpr std::uint64_t kFree = ~std::uint64_t{0};

    static std::uint64_t key_of(std::int32_t left, std::int32_t right) {
      return static_cast<std::uint64_t>(left) << 32 | static_cast<std::uint32_t>(right);
    }

    std::size_t place_of(std::uint64_t key) const {
      std::size_t place = (key * 0x9E3779B97F4A7C15U) >> (64 - bits_);
      while (entries_[place].key != kFree && entries_[place].key != key) place = (place + 1) & (entries_.size() - 1);
      return place;
    }

    std::vector<Entry> entries_;
    unsigned bits_ = 4;
    std::uint32_t count_ = 0;
  };

  /* Whether a merge joins a token that does not end with the mark to one that begins with it. */
  bool crosses_mark(const std::vector<std::string_view> &pieces, std::int32_t left, std::int32_t right) const {
    std::string mark;
    append_utf8(mark_, mark);
    const std::string_view first = pieces[static_cast<std::size_t>(left)], second = pieces[static_cast<std::size_t>(right)];
    const bool ends = first.size() >= mark.size() && first.substr(first.size() - mark.size()) == mark;
    return second.substr(0, mark.size()) == mark && !ends;
  }

  std::size_t chunk_end(const Word &word, std::size_t first) const {
    std::size_t last = first + 1;
    while (last < word.size() && !(word.code(last) == mark_ && word.code(last - 1) != mark_)) last += 1;
    return last;
  }

  /* The texts that are one token: as whole words, or after all merges (those are stable). */
  void index(const std::vector<std::string_view> &pieces) {
    is_stable_.assign(pieces.size(), false);
    const auto texts = texts_of(pieces);
    std::vector<std::pair<std::string_view, std::int32_t>> keys;
    Scratch scratch;
    std::vector<Token> tokens;
    Text characters;
    Word word;
    for (std::size_t id = 0; id < pieces.size(); id += 1) {
      characters.clear();
      for (std::size_t byte = 0; byte < texts[id].size();) characters.push_back({decode_utf8(texts[id], byte), 0, 0});
      word.assign(span_of(characters));
      // No word is a part of a character.
      if (word.size() == 0 || word.text() != texts[id]) continue;
      tokens.clear();
      merge(word, 0, word.size(), scratch, tokens);
      is_stable_[id] = tokens.size() == 1 && tokens[0].id == static_cast<std::int32_t>(id);
      if (is_stable_[id] || static_cast<std::int32_t>(id) < word_count_) keys.emplace_back(texts[id], static_cast<std::int32_t>(id));
    }
    trie_ = Trie(std::move(keys));
  }

  /* The text of each piece; empty for one of characters that stand for no byte. */
  std::vector<std::string> texts_of(const std::vector<std::string_view> &pieces) const {
    std::vector<std::string> texts(pieces.size());
    std::unordered_map<char32_t, char> bytes;
    for (std::size_t byte = 0; byte < byte_ids_.size() && letters_.empty(); byte += 1) {
      std::size_t place = 0;
      const std::string_view piece = pieces[static_cast<std::size_t>(byte_ids_[byte])];
      if (!piece.empty()) bytes[decode_utf8(piece, place)] = static_cast<char>(byte);
    }
    for (std::size_t id = 0; id < pieces.size(); id += 1) {
      if (!letters_.empty()) {
        texts[id] = pieces[id];
        continue;
      }
      for (std::size_t place = 0; place < pieces[id].size();) {
        const auto byte = bytes.find(decode_utf8(pieces[id], place));
        if (byte == bytes.end()) {
          texts[id].clear();
          break;
        }
        texts[id].push_back(byte->second);
      }
    }
    return texts;
  }

  /* Merges the symbols of a part of a word. */
  void merge(const Word &word, std::size_t first, std::size_t last, Scratch &scratch, std::vector<Token> &tokens) const {
    auto &[symbols, merges] = scratch;
    symbols.clear();
    merges.clear();
    for (std::size_t place = first; place < last; place += 1) {
      const auto add = [&, place, &symbols = symbols](std::int32_t id) {
        symbols.push_back({id, word[place].start, word[place].end, kNoId, kNoId});
      };
      const auto letter = letters_.empty() ? letters_.end() : letters_.find(word.code(place));
      if (letter != letters_.end()) add(letter->second);
      else for (std::uint32_t byte = word.begin_of(place); byte < word.end_of(place); byte += 1) add(byte_ids_[word.byte(byte)]);
    }
    if (symbols.size() <= kFew) merge_few(symbols, merges);
    else merge_many(symbols, merges);
    for (const Symbol &symbol : symbols) {
      if (symbol.id != kNoId) tokens.push_back({symbol.id, symbol.start, symbol.end, false});
    }
  }

  /* Up to so many symbols the best pair is sought among all, which is faster than a heap. */
  static constexpr std::size_t kFew = 32;

  Merge merge_of(const std::vector<Symbol> &symbols, std::size_t left, std::size_t right) const {
    const std::int32_t left_id = symbols[left].id, right_id = symbols[right].id;
    const auto *pair = pairs_.find(left_id, right_id);
    if (pair == nullptr) return {kNoRank, kNoId, static_cast<std::int32_t>(left), left_id, right_id};
    return {pair->rank, pair->id, static_cast<std::int32_t>(left), left_id, right_id};
  }

  void merge_few(std::vector<Symbol> &symbols, std::vector<Merge> &merges) const {
    for (std::size_t place = 0; place + 1 < symbols.size(); place += 1) merges.push_back(merge_of(symbols, place, place + 1));
    while (!merges.empty()) {
      std::size_t best = 0;
      for (std::size_t place = 1; place < merges.size(); place += 1) best = merges[place].rank < merges[best].rank ? place : best;
      if (merges[best].rank == kNoRank) return;
      symbols[best].id = merges[best].id;
      symbols[best].end = symbols[best + 1].end;
      symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(best) + 1);
      merges.erase(merges.begin() + static_cast<std::ptrdiff_t>(best));
      if (best > 0) merges[best - 1] = merge_of(symbols, best - 1, best);
      if (best < merges.size()) merges[best] = merge_of(symbols, best, best + 1);
    }
  }

  /* Leaves symbols without an id where two became one. */
  void merge_many(std::vector<Symbol> &symbols, std::vector<Merge> &merges) const {
    const auto last = static_cast<std::int32_t>(symbols.size()) - 1;
    for (std::int32_t place = 0; place <= last; place += 1) {
      symbols[static_cast<std::size_t>(place)].before = place - 1;
      symbols[static_cast<std::size_t>(place)].behind = place < last ? place + 1 : kNoId;
    }
    const auto offer = [&](std::int32_t left, std::int32_t right) {
      if (left < 0 || right < 0) return;
      const Merge merge = merge_of(symbols, static_cast<std::size_t>(left), static_cast<std::size_t>(right));
      if (merge.rank == kNoRank) return;
      merges.push_back(merge);
      std::push_heap(merges.begin(), merges.end());
    };
    for (std::int32_t place = 0; place < last; place += 1) offer(place, place + 1);
    while (!merges.empty()) {
      std::pop_heap(merges.begin(), merges.end());
      const Merge best = merges.back();
      merges.pop_back();
      Symbol &left = symbols[static_cast<std::size_t>(best.left)];
      if (left.id != best.left_id || left.behind < 0) continue;
      Symbol &right = symbols[static_cast<std::size_t>(left.behind)];
      if (right.id != best.right_id) continue;
      left.id = best.id;
      left.end = right.end;
      left.behind = right.behind;
      right.id = kNoId;
      if (left.behind >= 0) symbols[static_cast<std::size_t>(left.behind)].before = best.left;
      offer(best.left, left.behind);
      offer(left.before, best.left);
    }
  }

  char32_t mark_ = 0;
  std::int32_t word_count_ = 0;
  bool is_parted_by_mark_ = false;
  std::unordered_map<char32_t, std::int32_t> letters_;
  std::array<std::int32_t, 256> byte_ids_{};
  Pairs pairs_;
  Trie trie_;
  std::vector<bool> is_stable_;
};

/* BPE, unigram, and WordPiece with added tokens, by `vocab.txt` and `subwords.txt`. */
class Subwords final : public Tokenizer {
 public:
  using Tokenizer::tokenize;

  Subwords(std::string_view vocabulary, std::string_view rules) {
    const auto pieces = split_lines(vocabulary);
    if (pieces.empty()) throw Error("vocab.txt must hold pieces, got none");
    Reading reading;
    for (const std::string_view line : split_lines(rules)) read(Line(line), pieces, reading);
    for (Step &step : steps_) step.finish(classes_);
    for (Splitter &splitter : splitters_) splitter.finish(classes_);
    if (kind_ == Kind::bpe) {
      if (reading.bpe.byte_ids.size() != 256) throw Error("subwords.txt must hold a token for each of 256 bytes, got " + std::to_string(reading.bpe.byte_ids.size()));
      reading.bpe.word_count = reading.word_count;
      reading.bpe.mark = mark_;
      bpe_ = MergeModel(pieces, reading.bpe);
    } else {
      if (reading.unknown < 0) throw Error("subwords.txt must hold an unknown token, got none");
      if (kind_ == Kind::unigram) unigram_ = UnigramModel(pieces, std::move(reading.scores), reading.unknown);
      else wordpiece_ = PieceModel(pieces, reading.word_count, reading.unknown, reading.longest_word);
    }
    describe(pieces, reading.special);
  }

  std::vector<Token> tokenize(const Decoded &decoded) const override {
    std::vector<Token> tokens;
    tokens.reserve(decoded.codes.size() / 4 + 1);
    Text text(decoded.codes.size());
    for (std::uint32_t place = 0; place < text.size(); place += 1) text[place] = {decoded.codes[place], place, place + 1};
    Text part, other;
    Scratch scratch;
    scratch.texts.resize(splitters_.size());
    const auto add = [&](Span whole, std::int32_t id) { tokens.push_back({id, whole[0].start, whole[whole.size() - 1].end, false}); };
    raw_.separate(span_of(text), classes_, [&](Span raw, std::int32_t raw_id) {
      if (raw_id != kNoId) return add(raw, raw_id);
      part.assign(raw.begin(), raw.end());
      for (const Step &step : steps_) step.apply(part, other, classes_);
      normalized_.separate(span_of(part), classes_, [&](Span normalized, std::int32_t id) {
        if (id != kNoId) return add(normalized, id);
        split(normalized, 0, scratch, tokens);
      });
    });
    for (std::size_t place = 0; place < tokens.size(); place += 1) finish(decoded, place, tokens[place]);
    return tokens;
  }

 private:
  enum class Kind { wordpiece, bpe, unigram };

  /* Each step has tables of its own, and each split calls the next one. */
  static constexpr std::size_t kMostSteps = 64;

  /* What only the model of the tokenizer needs. */
  struct Reading {
    std::int32_t unknown = kNoId;
    std::vector<std::int32_t> special;
    std::size_t word_count = 0, longest_word = 0;
    std::vector<double> scores;
    MergeModel::Rules bpe;
  };

  /* Memory that is kept between the words of a text. */
  struct Scratch {
    std::vector<Text> texts;  // of each splitter
    Word word;
    MergeModel::Scratch merging;
    std::vector<UnigramModel::Best> best;
  };

  /* What a token's place depends on. */
  struct Shape {
    std::uint32_t leading = 0, trailing = 0;  // white characters, marks included
    bool begins = false;
  };

  void read(const Line &line, const std::vector<std::string_view> &pieces, Reading &reading) {
    const auto count = static_cast<std::int64_t>(pieces.size());
    const std::string_view name = line.word(0);
    const auto step = [&]() -> Step & {
      if (steps_.empty()) line.fail("a step before");
      return steps_.back();
    };
    if (name == "map") step().add_map(line);
    else if (name == "merge") reading.bpe.merges.push_back({line.number(1, 0, count), line.number(2, 0, count), line.number(3, 0, count)});
    else if (name == "score") read_score(line, pieces, reading);
    else if (name == "letter") reading.bpe.letters[line.code(1)] = line.number(2, 0, count);
    else if (name == "order") step().add_order(line);
    else if (name == "pair") step().add_pair(line);
    else if (name == "class") {
      if (!classes_.add(line.word(1), line.code(2), line.code(3))) line.fail("at most 64 classes");
    } else if (name == "added") read_added(line, count);
    else if (name == "kind") read_kind(line);
    else if (name == "row") {
      cls_ = line.number(1, 0, count);
      sep_ = line.number(2, 0, count);
      reading.unknown = line.number(3, kNoId, count);
      between_ = static_cast<std::size_t>(line.number(4, 1, 3));
      second_segment_ = line.number(5, 0, 2);
    } else if (name == "mark") mark_ = line.code(1);
    else if (name == "special") {
      for (std::size_t place = 1; place < line.size(); place += 1) reading.special.push_back(line.number(place, 0, count));
    } else if (name == "trim") trims_.push_back(line.flag(1));
    else if (name == "step" || name == "split") {
      if (steps_.size() + splitters_.size() == kMostSteps) line.fail("at most 64 steps and splits");
      if (name == "step") steps_.emplace_back(line);
      else splitters_.emplace_back(line);
    }
    else if (name == "words") {
      reading.word_count = static_cast<std::size_t>(line.number(1, 0, count + 1));
      reading.longest_word = static_cast<std::size_t>(line.number(2, 0, std::numeric_limits<std::int32_t>::max()));
    } else if (name == "bytes") {
      for (std::size_t place = 1; place < line.size(); place += 1) reading.bpe.byte_ids.push_back(line.number(place, 0, count));
    } else line.fail("names that are known");
  }

  void read_kind(const Line &line) {
    const std::string_view kind = line.word(1);
    if (kind != "wordpiece" && kind != "bpe" && kind != "unigram") line.fail("wordpiece, bpe or unigram");
    kind_ = kind == "bpe" ? Kind::bpe : kind == "unigram" ? Kind::unigram : Kind::wordpiece;
  }

  static void read_score(const Line &line, const std::vector<std::string_view> &pieces, Reading &reading) {
    const auto score = parse_double(line.word(1));
    if (!score || std::isnan(*score) || reading.scores.size() == pieces.size()) line.fail("a score for each token");
    reading.scores.push_back(*score);
  }

  void read_added(const Line &line, std::int64_t count) {
    const std::string_view stage = line.word(1), flags = line.word(4);
    if ((stage != "raw" && stage != "normalized") || flags.size() != 3) line.fail("raw or normalized and three flags");
    (stage == "raw" ? raw_ : normalized_).add({line.flag(2), line.number(3, 0, count), flags[0] == '1', flags[1] == '1', flags[2] == '1', line.codes(5)});
  }

  void describe(const std::vector<std::string_view> &pieces, const std::vector<std::int32_t> &special) {
    blank_ = classes_.mask("blank");
    shapes_.resize(pieces.size());
    for (std::size_t id = 0; id < pieces.size(); id += 1) {
      const std::vector<char32_t> codes = Decoded(pieces[id]).codes;
      const auto is_blank = [&](char32_t code) { return code == mark_ || classes_.contains(blank_, code); };
      Shape &shape = shapes_[id];
      while (shape.leading < codes.size() && is_blank(codes[shape.leading])) shape.leading += 1;
      while (shape.trailing < codes.size() && is_blank(codes[codes.size() - 1 - shape.trailing])) shape.trailing += 1;
      const bool is_continued = pieces[id].substr(0, kContinuation.size()) == kContinuation;
      shape.begins = kind_ == Kind::wordpiece ? !is_continued : !codes.empty() && codes[0] == mark_;
    }
    for (const std::int32_t id : special) shapes_[static_cast<std::size_t>(id)].begins = true;
  }

  /* Splits a part of a text by the splitters from one on, and cuts the words. */
  void split(Span text, std::size_t splitter, Scratch &scratch, std::vector<Token> &tokens) const {
    if (splitter < splitters_.size()) {
      splitters_[splitter].split(text, classes_, scratch.texts[splitter], [&](Span part) { split(part, splitter + 1, scratch, tokens); });
      return;
    }
    scratch.word.assign(text);
    if (kind_ == Kind::unigram) unigram_.cut(scratch.word, scratch.best, tokens);
    else if (kind_ == Kind::bpe) bpe_.cut(scratch.word, scratch.merging, tokens);
    else wordpiece_.cut(scratch.word, tokens);
  }

  /* A token whose place has no white space in front, and none of what byte-level BPE trims. */
  void finish(const Decoded &text, std::size_t place, Token &token) const {
    const Shape &shape = shapes_[static_cast<std::size_t>(token.id)];
    const auto size = static_cast<std::uint32_t>(text.codes.size());
    for (const bool has_prefix : trims_) {
      const std::uint32_t kept = shape.leading && has_prefix && (place == 0 || token.start == 0) ? 1 : 0;
      token.start = std::min(token.start + std::min(shape.leading - kept, size - token.start), token.end);
      if (shape.trailing <= token.end) token.end = std::max(token.end - shape.trailing, token.start);
    }
    while (token.start < token.end && classes_.contains(blank_, text.codes[token.start])) token.start += 1;
    token.begins = place == 0 || shape.begins;
  }

  Kind kind_ = Kind::wordpiece;
  char32_t mark_ = 0;
  Classes classes_;
  std::uint64_t blank_ = 0;
  std::vector<bool> trims_;
  AddedTokens raw_, normalized_;
  std::vector<Step> steps_;
  std::vector<Splitter> splitters_;
  PieceModel wordpiece_;
  UnigramModel unigram_;
  MergeModel bpe_;
  std::vector<Shape> shapes_;
};

}  // namespace detail

/* The tokenizer of a pushed folder: the contents of `vocab.txt`, and of `characters.txt` or `subwords.txt`. */
inline std::unique_ptr<const Tokenizer> open_tokenizer(std::string_view vocabulary, std::string_view rules) {
  if (rules.substr(0, 5) == "kind ") return std::make_unique<detail::Subwords>(vocabulary, rules);
  return std::make_unique<detail::WordPiece>(vocabulary, rules);
}

/* ---- JSON ---- */

namespace detail {

/* A value of JSON (RFC 8259). */
class Json {
 public:
  enum class Type { null, boolean, number, string, array, object };

  static Json parse(std::string_view text) {
    Reader reader{text, 0};
    Json value = reader.read(0);
    reader.skip();
    if (reader.place != text.size()) reader.fail();
    return value;
  }

  Type type = Type::null;
  double number = 0;  // 0 or 1 for booleans
  std::string string;
  std::vector<Json> items;                             // of an array
  std::vector<std::pair<std::string, Json>> members;   // of an object

  /* The value of a name, null where the object has none. */
  const Json &operator[](std::string_view name) const {
    static const Json none;
    for (const auto &[key, value] : members) {
      if (key == name) return value;
    }
    return none;
  }

  bool is_null() const { return type == Type::null; }

 private:
  struct Reader {
    std::string_view text;
    std::size_t place;
    static constexpr int kDeepest = 64;

    [[noreturn]] void fail() const { throw Error("a file must hold JSON, got something else at byte " + std::to_string(place)); }

    void skip() {
      while (place < text.size() && std::string_view(" \t\r\n").find(text[place]) != std::string_view::npos) place += 1;
    }

    bool take(char wanted) {
      skip();
      if (place == text.size() || text[place] != wanted) return false;
      place += 1;
      return true;
    }

    bool take(std::string_view word) {
      if (text.substr(place, word.size()) != word) return false;
      place += word.size();
      return true;
    }

    Json read(int depth) {
      if (depth > kDeepest) fail();
      Json value;
      if (take('{')) {
        value.type = Type::object;
        while (!take('}')) {
          if (!value.members.empty() && !take(',')) fail();
          if (!take('"')) fail();
          std::string name = read_string();
          if (!take(':')) fail();
          value.members.emplace_back(std::move(name), read(depth + 1));
        }
      } else if (take('[')) {
        value.type = Type::array;
        while (!take(']')) {
          if (!value.items.empty() && !take(',')) fail();
          value.items.push_back(read(depth + 1));
        }
      } else if (take('"')) {
        value.type = Type::string;
        value.string = read_string();
      } else if (take("true") || take("false")) {
        value.type = Type::boolean;
        value.number = text[place - 2] == 'u';
      } else if (!take("null")) {
        const std::size_t end = std::min(text.find_first_not_of("+-.0123456789eE", place), text.size());
        const auto parsed = parse_double(text.substr(place, end - place));
        if (!parsed) fail();
        place = end;
        value.type = Type::number;
        value.number = *parsed;
      }
      return value;
    }

    /* What follows a quotation mark, up to the next. */
    std::string read_string() {
      static constexpr std::string_view kEscapes = "\"\\/bfnrt", kEscaped = "\"\\/\b\f\n\r\t";
      std::string value;
      for (;;) {
        if (place == text.size()) fail();
        const char next = text[place++];
        if (next == '"') return value;
        if (next != '\\') {
          value.push_back(next);
          continue;
        }
        if (place == text.size()) fail();
        if (const std::size_t escape = kEscapes.find(text[place]); escape != std::string_view::npos) {
          value.push_back(kEscaped[escape]);
          place += 1;
        } else {
          append_utf8(read_escaped(), value);
        }
      }
    }

    /* A code point of one or two `uXXXX`; half a pair is U+FFFD. */
    char32_t read_escaped() {
      const auto read_unit = [this] {
        unsigned unit = 0;
        const char *start = text.data() + place + 1;
        if (text.size() - place < 5 || text[place] != 'u' || std::from_chars(start, start + 4, unit, 16).ptr != start + 4) fail();
        place += 5;
        return static_cast<char32_t>(unit);
      };
      const char32_t first = read_unit();
      if (first < 0xD800 || first >= 0xE000) return first;
      if (first >= 0xDC00 || text.substr(place, 2) != "\\u") return 0xFFFD;
      place += 1;
      const char32_t second = read_unit();
      if (second >= 0xDC00 && second < 0xE000) return 0x10000 + ((first - 0xD800) << 10) + second - 0xDC00;
      return 0xFFFD;
    }
  };
};

/* ---- Marks ---- */

/* The characters of Unicode's category M, of version 17: no token of a lowercasing tokenizer covers them. */
inline bool is_mark(char32_t code) {
  struct Range {
    char32_t first, last;
  };
  static constexpr Range kMarks[] = {
    {0x300, 0x36F}, {0x483, 0x489}, {0x591, 0x5BD}, {0x5BF, 0x5BF}, {0x5C1, 0x5C2}, {0x5C4, 0x5C5}, {0x5C7, 0x5C7}, {0x610, 0x61A},
    {0x64B, 0x65F}, {0x670, 0x670}, {0x6D6, 0x6DC}, {0x6DF, 0x6E4}, {0x6E7, 0x6E8}, {0x6EA, 0x6ED}, {0x711, 0x711}, {0x730, 0x74A},
    {0x7A6, 0x7B0}, {0x7EB, 0x7F3}, {0x7FD, 0x7FD}, {0x816, 0x819}, {0x81B, 0x823}, {0x825, 0x827}, {0x829, 0x82D}, {0x859, 0x85B},
    {0x897, 0x89F}, {0x8CA, 0x8E1}, {0x8E3, 0x903}, {0x93A, 0x93C}, {0x93E, 0x94F}, {0x951, 0x957}, {0x962, 0x963}, {0x981, 0x983},
    {0x9BC, 0x9BC}, {0x9BE, 0x9C4}, {0x9C7, 0x9C8}, {0x9CB, 0x9CD}, {0x9D7, 0x9D7}, {0x9E2, 0x9E3}, {0x9FE, 0x9FE}, {0xA01, 0xA03},
    {0xA3C, 0xA3C}, {0xA3E, 0xA42}, {0xA47, 0xA48}, {0xA4B, 0xA4D}, {0xA51, 0xA51}, {0xA70, 0xA71}, {0xA75, 0xA75}, {0xA81, 0xA83},
    {0xABC, 0xABC}, {0xABE, 0xAC5}, {0xAC7, 0xAC9}, {0xACB, 0xACD}, {0xAE2, 0xAE3}, {0xAFA, 0xAFF}, {0xB01, 0xB03}, {0xB3C, 0xB3C},
    {0xB3E, 0xB44}, {0xB47, 0xB48}, {0xB4B, 0xB4D}, {0xB55, 0xB57}, {0xB62, 0xB63}, {0xB82, 0xB82}, {0xBBE, 0xBC2}, {0xBC6, 0xBC8},
    {0xBCA, 0xBCD}, {0xBD7, 0xBD7}, {0xC00, 0xC04}, {0xC3C, 0xC3C}, {0xC3E, 0xC44}, {0xC46, 0xC48}, {0xC4A, 0xC4D}, {0xC55, 0xC56},
    {0xC62, 0xC63}, {0xC81, 0xC83}, {0xCBC, 0xCBC}, {0xCBE, 0xCC4}, {0xCC6, 0xCC8}, {0xCCA, 0xCCD}, {0xCD5, 0xCD6}, {0xCE2, 0xCE3},
    {0xCF3, 0xCF3}, {0xD00, 0xD03}, {0xD3B, 0xD3C}, {0xD3E, 0xD44}, {0xD46, 0xD48}, {0xD4A, 0xD4D}, {0xD57, 0xD57}, {0xD62, 0xD63},
    {0xD81, 0xD83}, {0xDCA, 0xDCA}, {0xDCF, 0xDD4}, {0xDD6, 0xDD6}, {0xDD8, 0xDDF}, {0xDF2, 0xDF3}, {0xE31, 0xE31}, {0xE34, 0xE3A},
    {0xE47, 0xE4E}, {0xEB1, 0xEB1}, {0xEB4, 0xEBC}, {0xEC8, 0xECE}, {0xF18, 0xF19}, {0xF35, 0xF35}, {0xF37, 0xF37}, {0xF39, 0xF39},
    {0xF3E, 0xF3F}, {0xF71, 0xF84}, {0xF86, 0xF87}, {0xF8D, 0xF97}, {0xF99, 0xFBC}, {0xFC6, 0xFC6}, {0x102B, 0x103E}, {0x1056, 0x1059},
    {0x105E, 0x1060}, {0x1062, 0x1064}, {0x1067, 0x106D}, {0x1071, 0x1074}, {0x1082, 0x108D}, {0x108F, 0x108F}, {0x109A, 0x109D},
    {0x135D, 0x135F}, {0x1712, 0x1715}, {0x1732, 0x1734}, {0x1752, 0x1753}, {0x1772, 0x1773}, {0x17B4, 0x17D3}, {0x17DD, 0x17DD},
    {0x180B, 0x180D}, {0x180F, 0x180F}, {0x1885, 0x1886}, {0x18A9, 0x18A9}, {0x1920, 0x192B}, {0x1930, 0x193B}, {0x1A17, 0x1A1B},
    {0x1A55, 0x1A5E}, {0x1A60, 0x1A7C}, {0x1A7F, 0x1A7F}, {0x1AB0, 0x1ADD}, {0x1AE0, 0x1AEB}, {0x1B00, 0x1B04}, {0x1B34, 0x1B44},
    {0x1B6B, 0x1B73}, {0x1B80, 0x1B82}, {0x1BA1, 0x1BAD}, {0x1BE6, 0x1BF3}, {0x1C24, 0x1C37}, {0x1CD0, 0x1CD2}, {0x1CD4, 0x1CE8},
    {0x1CED, 0x1CED}, {0x1CF4, 0x1CF4}, {0x1CF7, 0x1CF9}, {0x1DC0, 0x1DFF}, {0x20D0, 0x20F0}, {0x2CEF, 0x2CF1}, {0x2D7F, 0x2D7F},
    {0x2DE0, 0x2DFF}, {0x302A, 0x302F}, {0x3099, 0x309A}, {0xA66F, 0xA672}, {0xA674, 0xA67D}, {0xA69E, 0xA69F}, {0xA6F0, 0xA6F1},
    {0xA802, 0xA802}, {0xA806, 0xA806}, {0xA80B, 0xA80B}, {0xA823, 0xA827}, {0xA82C, 0xA82C}, {0xA880, 0xA881}, {0xA8B4, 0xA8C5},
    {0xA8E0, 0xA8F1}, {0xA8FF, 0xA8FF}, {0xA926, 0xA92D}, {0xA947, 0xA953}, {0xA980, 0xA983}, {0xA9B3, 0xA9C0}, {0xA9E5, 0xA9E5},
    {0xAA29, 0xAA36}, {0xAA43, 0xAA43}, {0xAA4C, 0xAA4D}, {0xAA7B, 0xAA7D}, {0xAAB0, 0xAAB0}, {0xAAB2, 0xAAB4}, {0xAAB7, 0xAAB8},
    {0xAABE, 0xAABF}, {0xAAC1, 0xAAC1}, {0xAAEB, 0xAAEF}, {0xAAF5, 0xAAF6}, {0xABE3, 0xABEA}, {0xABEC, 0xABED}, {0xFB1E, 0xFB1E},
    {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}, {0x101FD, 0x101FD}, {0x102E0, 0x102E0}, {0x10376, 0x1037A}, {0x10A01, 0x10A03},
    {0x10A05, 0x10A06}, {0x10A0C, 0x10A0F}, {0x10A38, 0x10A3A}, {0x10A3F, 0x10A3F}, {0x10AE5, 0x10AE6}, {0x10D24, 0x10D27},
    {0x10D69, 0x10D6D}, {0x10EAB, 0x10EAC}, {0x10EFA, 0x10EFF}, {0x10F46, 0x10F50}, {0x10F82, 0x10F85}, {0x11000, 0x11002},
    {0x11038, 0x11046}, {0x11070, 0x11070}, {0x11073, 0x11074}, {0x1107F, 0x11082}, {0x110B0, 0x110BA}, {0x110C2, 0x110C2},
    {0x11100, 0x11102}, {0x11127, 0x11134}, {0x11145, 0x11146}, {0x11173, 0x11173}, {0x11180, 0x11182}, {0x111B3, 0x111C0},
    {0x111C9, 0x111CC}, {0x111CE, 0x111CF}, {0x1122C, 0x11237}, {0x1123E, 0x1123E}, {0x11241, 0x11241}, {0x112DF, 0x112EA},
    {0x11300, 0x11303}, {0x1133B, 0x1133C}, {0x1133E, 0x11344}, {0x11347, 0x11348}, {0x1134B, 0x1134D}, {0x11357, 0x11357},
    {0x11362, 0x11363}, {0x11366, 0x1136C}, {0x11370, 0x11374}, {0x113B8, 0x113C0}, {0x113C2, 0x113C2}, {0x113C5, 0x113C5},
    {0x113C7, 0x113CA}, {0x113CC, 0x113D0}, {0x113D2, 0x113D2}, {0x113E1, 0x113E2}, {0x11435, 0x11446}, {0x1145E, 0x1145E},
    {0x114B0, 0x114C3}, {0x115AF, 0x115B5}, {0x115B8, 0x115C0}, {0x115DC, 0x115DD}, {0x11630, 0x11640}, {0x116AB, 0x116B7},
    {0x1171D, 0x1172B}, {0x1182C, 0x1183A}, {0x11930, 0x11935}, {0x11937, 0x11938}, {0x1193B, 0x1193E}, {0x11940, 0x11940},
    {0x11942, 0x11943}, {0x119D1, 0x119D7}, {0x119DA, 0x119E0}, {0x119E4, 0x119E4}, {0x11A01, 0x11A0A}, {0x11A33, 0x11A39},
    {0x11A3B, 0x11A3E}, {0x11A47, 0x11A47}, {0x11A51, 0x11A5B}, {0x11A8A, 0x11A99}, {0x11B60, 0x11B67}, {0x11C2F, 0x11C36},
    {0x11C38, 0x11C3F}, {0x11C92, 0x11CA7}, {0x11CA9, 0x11CB6}, {0x11D31, 0x11D36}, {0x11D3A, 0x11D3A}, {0x11D3C, 0x11D3D},
    {0x11D3F, 0x11D45}, {0x11D47, 0x11D47}, {0x11D8A, 0x11D8E}, {0x11D90, 0x11D91}, {0x11D93, 0x11D97}, {0x11EF3, 0x11EF6},
    {0x11F00, 0x11F01}, {0x11F03, 0x11F03}, {0x11F34, 0x11F3A}, {0x11F3E, 0x11F42}, {0x11F5A, 0x11F5A}, {0x13440, 0x13440},
    {0x13447, 0x13455}, {0x1611E, 0x1612F}, {0x16AF0, 0x16AF4}, {0x16B30, 0x16B36}, {0x16F4F, 0x16F4F}, {0x16F51, 0x16F87},
    {0x16F8F, 0x16F92}, {0x16FE4, 0x16FE4}, {0x16FF0, 0x16FF1}, {0x1BC9D, 0x1BC9E}, {0x1CF00, 0x1CF2D}, {0x1CF30, 0x1CF46},
    {0x1D165, 0x1D169}, {0x1D16D, 0x1D172}, {0x1D17B, 0x1D182}, {0x1D185, 0x1D18B}, {0x1D1AA, 0x1D1AD}, {0x1D242, 0x1D244},
    {0x1DA00, 0x1DA36}, {0x1DA3B, 0x1DA6C}, {0x1DA75, 0x1DA75}, {0x1DA84, 0x1DA84}, {0x1DA9B, 0x1DA9F}, {0x1DAA1, 0x1DAAF},
    {0x1E000, 0x1E006}, {0x1E008, 0x1E018}, {0x1E01B, 0x1E021}, {0x1E023, 0x1E024}, {0x1E026, 0x1E02A}, {0x1E08F, 0x1E08F},
    {0x1E130, 0x1E136}, {0x1E2AE, 0x1E2AE}, {0x1E2EC, 0x1E2EF}, {0x1E4EC, 0x1E4EF}, {0x1E5EE, 0x1E5EF}, {0x1E6E3, 0x1E6E3},
    {0x1E6E6, 0x1E6E6}, {0x1E6EE, 0x1E6EF}, {0x1E6F5, 0x1E6F5}, {0x1E8D0, 0x1E8D6}, {0x1E944, 0x1E94A}, {0xE0100, 0xE01EF},
  };
  const auto *const found = std::lower_bound(std::begin(kMarks), std::end(kMarks), code, [](const Range &range, char32_t value) { return range.last < value; });
  return found != std::end(kMarks) && found->first <= code;
}

/* ---- Settings ---- */

inline double finite(const Json &value, const char *name) {
  if (value.type != Json::Type::number || !std::isfinite(value.number)) throw Error(std::string(name) + " must be a finite number");
  return value.number;
}

inline std::size_t positive(const Json &value, const char *name) {
  const double number = finite(value, name);
  if (number < 1 || number > 1e9 || number != std::floor(number)) throw Error(std::string(name) + " must be a whole number from 1 on");
  return static_cast<std::size_t>(number);
}

/* What `task.json` and `metrics.json` say of a model. */
struct Settings {
  enum class Kind { labels, label_sets, number, vector, tags, answer };

  Kind kind = Kind::labels;
  std::size_t max_length = 0;
  std::vector<std::string> labels;
  std::vector<std::optional<double>> thresholds;  // of labels that do not exclude one another; none for one that is never given
  bool has_sigmoid = false;
  std::map<std::string, std::string, std::less<>> prompts;
  std::size_t stride = 0, max_query_length = 0, max_answer_length = 0;
  std::optional<double> null_threshold;
  double temperature = 1;
  std::optional<double> sure_threshold;

  Settings(std::string_view task_json, std::string_view metrics_json) {
    const Json task = Json::parse(task_json);
    kind = kind_of(task["task"].string);
    max_length = positive(task["max_length"], "task.json: max_length");
    for (const Json &label : task["labels"].items) labels.push_back(label.string);
    if (labels.empty() && (kind == Kind::labels || kind == Kind::label_sets || kind == Kind::tags)) throw Error("task.json must hold labels, got none");
    for (const Json &threshold : task["thresholds"].items) {
      thresholds.push_back(threshold.is_null() ? std::nullopt : std::optional(finite(threshold, "task.json: a threshold")));
    }
    if (kind == Kind::label_sets && thresholds.size() != labels.size()) throw Error("task.json must hold a threshold for each label");
    has_sigmoid = task["activation"].string == "sigmoid";
    for (const auto &[name, prompt] : task["prompts"].members) prompts[name] = prompt.string;
    if (kind == Kind::answer) {
      stride = positive(task["stride"], "task.json: stride");
      max_query_length = positive(task["max_query_length"], "task.json: max_query_length");
      max_answer_length = positive(task["max_answer_length"], "task.json: max_answer_length");
      if (!task["null_threshold"].is_null()) null_threshold = finite(task["null_threshold"], "task.json: null_threshold");
    }
    if (metrics_json.empty()) return;
    const Json metrics = Json::parse(metrics_json);
    const Json &calibration = metrics["calibration"];
    if (!calibration["temperature"].is_null()) temperature = finite(calibration["temperature"], "metrics.json: calibration.temperature");
    if (!(temperature > 0)) throw Error("metrics.json: calibration.temperature must be positive");
    if (!calibration["threshold"].is_null()) sure_threshold = finite(calibration["threshold"], "metrics.json: calibration.threshold");
  }

 private:
  static Kind kind_of(std::string_view task) {
    static constexpr std::pair<std::string_view, Kind> kinds[] = {
        {"classification", Kind::labels}, {"multi_label", Kind::label_sets}, {"regression", Kind::number},
        {"reranking", Kind::number},      {"embedding", Kind::vector},       {"retrieval", Kind::vector},
        {"token_classification", Kind::tags}, {"question_answering", Kind::answer},
    };
    for (const auto &[name, kind] : kinds) {
      if (name == task) return kind;
    }
    throw Error("task.json must hold a task whose answers are known, got '" + std::string(task.substr(0, 40)) + "'");
  }
};

}  // namespace detail

/* ---- Answers ---- */

/* A part of an answer: a label, a tag of a word, an entity, or an answer to a question. */
struct Entry {
  std::string label;       // empty for an answer to a question
  double probability = 0;  // calibrated
  bool is_given = true;    // of labels that do not exclude one another: whether the text has this one
  bool is_sure = true;     // whether the probability reaches the threshold of `metrics.json`
  std::uint32_t start = 0, end = 0;
  std::string text;  // the part [start, end) of the text; empty where there is no answer to a question
};

/*
 * What a task answers. Labels are sorted, the most probable first; tags and entities stand in the order of the text, and a
 * question has a single entry. Regression and re-ranking have a number, embedding and retrieval a vector.
 */
struct Answer {
  std::vector<Entry> entries;
  double number = 0;
  std::vector<float> vector;
};

/* The cosine of two vectors of one width, -1 to 1. */
inline double cosine(const std::vector<float> &left, const std::vector<float> &right) {
  if (left.size() != right.size()) throw Error("vectors must have one width, got " + std::to_string(left.size()) + " and " + std::to_string(right.size()));
  double product = 0, left_square = 0, right_square = 0;
  for (std::size_t place = 0; place < left.size(); place += 1) {
    product += double{left[place]} * right[place];
    left_square += double{left[place]} * left[place];
    right_square += double{right[place]} * right[place];
  }
  return product / std::sqrt(left_square * right_square);
}

/* A text, or a pair of them, that a model is asked about: the rows to run, and what their outputs answer. */
class Question {
 public:
  /* The inputs of the model. All rows are to run; only long texts of words and of answers have several. */
  const std::vector<Row> &rows() const { return rows_; }

  /*
   * The answer, given the outputs of the rows: logits, or a vector, in the order of the tensor (tokens, labels). Outputs of
   * padded rows may be longer than the row. The number of an output is that of its row.
   */
  Answer answer(const std::vector<std::vector<float>> &outputs) const {
    if (outputs.size() != rows_.size()) throw Error("a question must have an output for each of its " + std::to_string(rows_.size()) + " rows");
    for (std::size_t row = 0; row < rows_.size(); row += 1) check_output(rows_[row], outputs[row]);
    switch (settings_->kind) {
      case Kind::labels: return classify(outputs[0]);
      case Kind::label_sets: return choose_labels(outputs[0]);
      case Kind::number: return {{}, settings_->has_sigmoid ? sigmoid(outputs[0][0]) : double{outputs[0][0]}, {}};
      case Kind::vector: return {{}, 0, outputs[0]};
      case Kind::tags: return are_entity_tags() ? find_entities(tag_words(outputs)) : tag_words(outputs);
      case Kind::answer: break;
    }
    return find_answer(outputs);
  }

  /* The tag of each word of a text, where the labels are entity tags, too. */
  Answer tags(const std::vector<std::vector<float>> &outputs) const {
    if (settings_->kind != Kind::tags) throw Error("only token_classification has tags of words");
    if (outputs.size() != rows_.size()) throw Error("a question must have an output for each of its " + std::to_string(rows_.size()) + " rows");
    for (std::size_t row = 0; row < rows_.size(); row += 1) check_output(rows_[row], outputs[row]);
    return tag_words(outputs);
  }

 private:
  friend class Model;
  using Kind = detail::Settings::Kind;
  struct Run {
    std::size_t first, last;
  };

  Question(std::shared_ptr<const Tokenizer> tokenizer, std::shared_ptr<const detail::Settings> settings, std::string_view text,
           const std::string_view *second, Unit unit)
      : settings_(std::move(settings)),
        text_(settings_->kind == Kind::answer && second ? *second : text),
        decoded_(text_),
        offsets_(decoded_.offsets(unit)) {
    const std::size_t length = settings_->max_length;
    if (settings_->kind == Kind::tags) {
      if (second) throw Error("token_classification takes a single text, got a second one");
      encode_words(*tokenizer);
    } else if (settings_->kind == Kind::answer) {
      if (!second) throw Error("question_answering takes a question and a context, got no context");
      encode_windows(*tokenizer, tokenizer->tokenize(text));
    } else if (second) {
      rows_.push_back(tokenizer->encode(tokenizer->tokenize(text), tokenizer->tokenize(*second), length));
    } else {
      rows_.push_back(tokenizer->encode(tokenizer->tokenize(decoded_), length));
    }
  }

  void check_output(const Row &row, const std::vector<float> &output) const {
    const std::size_t labels = settings_->labels.size(), tokens = row.token_ids.size();
    const bool is_exact = settings_->kind == Kind::labels || settings_->kind == Kind::label_sets;
    const std::size_t least = is_exact ? labels : settings_->kind == Kind::tags ? tokens * labels : settings_->kind == Kind::answer ? tokens * 2 : 1;
    if (output.size() < least || (is_exact && output.size() > least)) {
      throw Error("an output must have " + std::to_string(least) + " numbers for this row, got " + std::to_string(output.size()));
    }
    if (!std::all_of(output.begin(), output.end(), [](float value) { return std::isfinite(value); })) throw Error("an output must hold finite numbers");
  }

  static double sigmoid(double logit) { return 1 / (1 + std::exp(-logit)); }

  /* Logits as probabilities, calibrated by the temperature (Guo et al. 2017, section 4.2). */
  std::vector<double> shares(const float *logits) const {
    const std::size_t count = settings_->labels.size();
    const double most = *std::max_element(logits, logits + count);
    std::vector<double> shares(count);
    double total = 0;
    for (std::size_t label = 0; label < count; label += 1) total += shares[label] = std::exp((logits[label] - most) / settings_->temperature);
    for (double &share : shares) share /= total;
    return shares;
  }

  bool is_sure(double probability) const { return !settings_->sure_threshold || probability >= *settings_->sure_threshold; }

  Answer rank(std::vector<Entry> entries) const {
    for (Entry &entry : entries) entry.is_sure = is_sure(entry.probability);
    std::stable_sort(entries.begin(), entries.end(), [](const Entry &left, const Entry &right) { return left.probability > right.probability; });
    return {std::move(entries), 0, {}};
  }

  Answer classify(const std::vector<float> &logits) const {
    const std::vector<double> probabilities = shares(logits.data());
    std::vector<Entry> entries(probabilities.size());
    for (std::size_t label = 0; label < entries.size(); label += 1) {
      entries[label].label = settings_->labels[label];
      entries[label].probability = probabilities[label];
    }
    return rank(std::move(entries));
  }

  /* A label is given where its probability, before it is calibrated, reaches the threshold of the label. */
  Answer choose_labels(const std::vector<float> &logits) const {
    std::vector<Entry> entries(logits.size());
    for (std::size_t label = 0; label < entries.size(); label += 1) {
      const auto &threshold = settings_->thresholds[label];
      entries[label].label = settings_->labels[label];
      entries[label].probability = sigmoid(logits[label] / settings_->temperature);
      entries[label].is_given = threshold && sigmoid(logits[label]) >= *threshold;
    }
    return rank(std::move(entries));
  }

  /* ---- Words ---- */

  std::size_t room() const { return settings_->max_length - 2; }
  std::size_t width(std::size_t word) const { return std::min(words_[word].last - words_[word].first, room()); }

  /* Rows of a long text overlap by a quarter. */
  void encode_words(const Tokenizer &tokenizer) {
    if (settings_->max_length < 3) throw Error("task.json: max_length must leave room for a token");
    tokens_ = tokenizer.tokenize(decoded_);
    for (std::size_t token = 0; token < tokens_.size(); token += 1) {
      if (tokens_[token].begins) words_.push_back({token, token});
      words_.back().last = token + 1;
    }
    split_words(room(), room() / 4);
    for (const auto [first, last] : runs_) {
      std::vector<Token> part;
      for (std::size_t word = first; word < last; word += 1) {
        const Token *token = tokens_.data() + words_[word].first;
        part.insert(part.end(), token, token + width(word));
      }
      rows_.push_back(tokenizer.encode(part, settings_->max_length));
    }
  }

  /* Runs of words of at most `room` tokens; each repeats at most `overlap` tokens. */
  void split_words(std::size_t room, std::size_t overlap) {
    std::vector<std::size_t> before{0};
    for (std::size_t word = 0; word < words_.size(); word += 1) before.push_back(before.back() + width(word));
    const auto place = [&](std::size_t tokens) { return static_cast<std::size_t>(std::lower_bound(before.begin(), before.end(), tokens) - before.begin()); };
    for (std::size_t first = 0; !words_.empty();) {
      const auto behind = std::upper_bound(before.begin(), before.end(), before[first] + room);
      const std::size_t last = static_cast<std::size_t>(behind - before.begin()) - 1;
      runs_.push_back({first, last});
      if (last == words_.size()) return;
      // A run that went further back would have no room for the next word, and never come to an end.
      first = place(std::max(before[last] - std::min(overlap, before[last]), before[last + 1] - std::min(room, before[last + 1])));
    }
  }

  /* Each word is tagged in the row in which it sees most on both sides. */
  Answer tag_words(const std::vector<std::vector<float>> &outputs) const {
    const std::size_t labels = settings_->labels.size();
    std::vector<Entry> entries(words_.size());
    std::vector<std::int64_t> contexts(words_.size(), -1);
    for (std::size_t run = 0; run < runs_.size(); run += 1) {
      const std::size_t size = rows_[run].lengths[0];
      std::size_t column = 0;
      for (std::size_t word = runs_[run].first; word < runs_[run].last; word += 1) {
        const auto context = static_cast<std::int64_t>(std::min(column, size - column - 1));
        if (context > contexts[word]) {
          contexts[word] = context;
          const std::vector<double> chances = shares(outputs[run].data() + (column + 1) * labels);
          const auto best = std::max_element(chances.begin(), chances.end());
          entries[word].label = settings_->labels[static_cast<std::size_t>(best - chances.begin())];
          entries[word].probability = *best;
        }
        column += width(word);
      }
    }
    for (std::size_t word = 0; word < words_.size(); word += 1) {
      entries[word].is_sure = is_sure(entries[word].probability);
      place(entries[word], tokens_[words_[word].first].start, tokens_[words_[word].last - 1].end);
    }
    return {std::move(entries), 0, {}};
  }

  /* A tag's prefix, of O, B, I, E and S, and its type; a tag of no scheme is outside. */
  static std::pair<char, std::string_view> split_tag(std::string_view tag) {
    const bool has_prefix = !tag.empty() && std::string_view("BIES").find(tag[0]) != std::string_view::npos;
    if (has_prefix && tag.size() == 1) return {tag[0], "_"};
    if (has_prefix && tag.size() > 2 && tag[1] == '-') return {tag[0], tag.substr(2)};
    return {'O', "_"};
  }

  /* Whether tags mark entities, and not, say, parts of speech. */
  bool are_entity_tags() const {
    const auto &labels = settings_->labels;
    const auto has_type = [](const std::string &label) { return label.size() > 1 && label[1] == '-' && std::string_view("BIES").find(label[0]) != std::string_view::npos; };
    const auto is_letter = [](const std::string &label) { return label.size() == 1 && std::string_view("OBIES").find(label[0]) != std::string_view::npos; };
    if (std::any_of(labels.begin(), labels.end(), has_type)) return true;
    return std::find(labels.begin(), labels.end(), "O") != labels.end() && std::all_of(labels.begin(), labels.end(), is_letter);
  }

  /* Entities as conlleval reads BIO, IOB1 and IOBES (Tjong Kim Sang and De Meulder 2003). */
  Answer find_entities(const Answer &tags) const {
    Answer found;
    std::optional<std::size_t> open;
    std::string_view type;
    const auto close = [&](std::size_t last) {
      Entry entity;
      entity.label = type;
      for (std::size_t word = *open; word < last; word += 1) entity.probability += tags.entries[word].probability;
      entity.probability /= static_cast<double>(last - *open);
      entity.is_sure = is_sure(entity.probability);
      place(entity, tokens_[words_[*open].first].start, end_with_marks(tokens_[words_[last - 1].last - 1].end));
      found.entries.push_back(std::move(entity));
      open.reset();
    };
    for (std::size_t word = 0; word < tags.entries.size(); word += 1) {
      const auto [prefix, label] = split_tag(tags.entries[word].label);
      if (open && (prefix == 'O' || prefix == 'B' || prefix == 'S' || label != type)) close(word);
      if (!open && prefix != 'O') {
        open = word;
        type = label;
      }
      if (open && (prefix == 'E' || prefix == 'S')) close(word + 1);
    }
    if (open) close(tags.entries.size());
    return found;
  }

  /* ---- Answers to questions ---- */

  /* A context is read in windows; the last one ends where the context does. */
  void encode_windows(const Tokenizer &tokenizer, std::vector<Token> query) {
    query.resize(std::min(query.size(), settings_->max_query_length));
    tokens_ = tokenizer.tokenize(decoded_);
    const std::size_t special = tokenizer.special_count(true) + query.size(), stride = settings_->stride;
    if (settings_->max_length < special + stride) throw Error("task.json: stride must be at most the tokens of a context that a window shows");
    const std::size_t room = settings_->max_length - special;
    const std::size_t count = tokens_.size() > room ? 1 + (tokens_.size() - room + stride - 1) / stride : 1;
    context_column_ = special - 1;
    for (std::size_t window = 0; window < count; window += 1) {
      const Run run{window * stride, std::min(window * stride + room, tokens_.size())};
      const std::vector<Token> part(tokens_.begin() + static_cast<std::ptrdiff_t>(run.first), tokens_.begin() + static_cast<std::ptrdiff_t>(run.last));
      rows_.push_back(tokenizer.encode(query, part, settings_->max_length));
      runs_.push_back(run);
    }
  }

  /* For each token the window that shows most around it (`_check_is_max_context` of google-research/bert). */
  std::vector<std::size_t> widest_windows() const {
    std::vector<std::size_t> widest(tokens_.size(), 0), scores(tokens_.size(), 0);
    for (std::size_t window = 0; window < runs_.size(); window += 1) {
      const auto [first, last] = runs_[window];
      for (std::size_t token = first; token < last; token += 1) {
        const std::size_t score = 100 * std::min(token - first, last - 1 - token) + (last - first);
        if (score <= scores[token]) continue;
        scores[token] = score;
        widest[token] = window;
      }
    }
    return widest;
  }

  Answer find_answer(const std::vector<std::vector<float>> &outputs) const {
    const std::vector<std::size_t> widest = widest_windows();
    // The sum of e^score over all spans is `total` times e^best.
    double best = -std::numeric_limits<double>::infinity(), none = std::numeric_limits<double>::infinity(), total = 0;
    std::size_t best_first = 0, best_last = 0;
    for (std::size_t window = 0; window < runs_.size(); window += 1) {
      const float *logits = outputs[window].data();
      const auto [first, last] = runs_[window];
      none = std::min(none, double{logits[0]} + logits[1]);
      const auto column = [&, start = first](std::size_t token) { return 2 * (context_column_ + token - start); };
      for (std::size_t start = first; start < last; start += 1) {
        if (widest[start] != window) continue;
        for (std::size_t end = start; end < std::min(last, start + settings_->max_answer_length); end += 1) {
          const double score = double{logits[column(start)]} + logits[column(end) + 1];
          if (score > best) {
            total *= std::exp(best - score);
            best = score;
            best_first = start;
            best_last = end;
          }
          total += std::exp(score - best);
        }
      }
    }
    const bool may_be_none = settings_->null_threshold.has_value(), has_span = std::isfinite(best);
    const bool is_silent = may_be_none ? none - best > *settings_->null_threshold : !has_span;
    const double top = has_span ? std::max(best, none) : none;
    const double spans = has_span ? total * std::exp(best - top) : 0;
    Entry entry;
    entry.probability = std::exp((is_silent ? none : best) - top) / (spans + (may_be_none || !has_span ? std::exp(none - top) : 0));
    entry.is_sure = is_sure(entry.probability);
    if (!is_silent) place(entry, tokens_[best_first].start, end_with_marks(tokens_[best_last].end));
    return {{std::move(entry)}, 0, {}};
  }

  /* ---- Places ---- */

  /* The end of a part of the text, behind the marks of its last character, which no token covers: accents, vowel signs. */
  std::uint32_t end_with_marks(std::uint32_t end) const {
    while (end < decoded_.codes.size() && detail::is_mark(decoded_.codes[end])) end += 1;
    return end;
  }

  void place(Entry &entry, std::uint32_t start, std::uint32_t end) const {
    entry.text = text_.substr(decoded_.bytes[start], decoded_.bytes[end] - decoded_.bytes[start]);
    entry.start = offsets_.empty() ? start : offsets_[start];
    entry.end = offsets_.empty() ? end : offsets_[end];
  }

  std::shared_ptr<const detail::Settings> settings_;
  std::string text_;  // whose parts an answer names
  detail::Decoded decoded_;
  std::vector<std::uint32_t> offsets_;
  std::vector<Token> tokens_;
  std::vector<Run> words_, runs_;  // words as tokens; the words or the tokens of each row
  std::size_t context_column_ = 0;
  std::vector<Row> rows_;
};

/* A pushed model without its graph: its tokenizer, and what its outputs answer. Copies share both. */
class Model {
 public:
  /*
   * Arguments are the contents of files of a pushed folder: `vocab.txt`; `characters.txt` or `subwords.txt`; `task.json`;
   * and `metrics.json`, or nothing, which calibrates no answer.
   */
  Model(std::string_view vocabulary, std::string_view rules, std::string_view task, std::string_view metrics = {})
      : tokenizer_(open_tokenizer(vocabulary, rules)), settings_(std::make_shared<const detail::Settings>(task, metrics)) {}

  const Tokenizer &tokenizer() const { return *tokenizer_; }
  const std::vector<std::string> &labels() const { return settings_->labels; }
  std::size_t max_length() const { return settings_->max_length; }

  /* A text; a `prompt` is the name of one of the prompts of `task.json`, which is put in front of the text; others are empty. */
  Question ask(std::string_view text, Unit unit = Unit::bytes, std::string_view prompt = {}) const {
    const auto found = settings_->prompts.find(prompt);
    if (found == settings_->prompts.end()) return Question(tokenizer_, settings_, text, nullptr, unit);
    return Question(tokenizer_, settings_, found->second + std::string(text), nullptr, unit);
  }

  /* A pair of texts; in question answering a question and a context, in re-ranking a query and a passage. */
  Question ask_pair(std::string_view text, std::string_view second, Unit unit = Unit::bytes) const {
    return Question(tokenizer_, settings_, text, &second, unit);
  }

 private:
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::shared_ptr<const detail::Settings> settings_;
};

}  // namespace bert_edge

#endif
