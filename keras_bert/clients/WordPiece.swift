/// BERT's WordPiece tokenizer (Devlin et al. 2019), by tables alone: it cuts text as the model's training did, whatever
/// Unicode the device knows. To copy into an app, with `vocab.txt` and `characters.txt` of a pushed folder.

/// A piece: its id, where it stands in `text.unicodeScalars`, and whether it begins a word.
public struct Piece: Equatable {
  public let id: Int
  public let start: Int
  public let end: Int
  public let begins: Bool
}

/// The inputs of a model, without padding, and how many pieces of each text there are.
public struct Row {
  public let tokenIds: [Int]
  public let segmentIds: [Int]
  public let lengths: [Int]
}

public struct WordPiece {
  private struct Character {
    let code: UInt32
    let place: Int
  }

  /// Characters; a longer word is unknown, as in google-research/bert.
  private static let longestWord = 100

  // By scalars: strings of Swift are equal where they only look alike.
  private let ids: [[UInt32]: Int]
  private var ranges: [String: [ClosedRange<UInt32>]] = ["dropped": [], "blank": [], "isolated": [], "syllables": []]
  private var replaced: [UInt32: [UInt32]] = [:]

  /// - Parameters:
  ///   - pieces: of the vocabulary, by id.
  ///   - characters: what `characters.txt` holds.
  public init(pieces: [String], characters: String) {
    ids = Dictionary(uniqueKeysWithValues: pieces.enumerated().map { ($1.unicodeScalars.map(\.value), $0) })
    for line in characters.split(separator: "\n") {
      let words = line.split(separator: " ")
      let codes = words.dropFirst().map { UInt32($0, radix: 16)! }
      if words[0] == "replaced" {
        replaced[codes[0]] = Array(codes.dropFirst())
      } else {
        ranges[String(words[0])]!.append(codes[0]...codes[1])
      }
    }
  }

  /// The pieces of a text, without special tokens.
  public func tokenize(_ text: String) -> [Piece] {
    words(text).flatMap(cut)
  }

  /// A text as the model's training read it, its words parted by spaces. MediaPipe Tasks, which keeps accents and
  /// characters without width, makes the ids of the training of it.
  public func plain(_ text: String) -> String {
    let spelt = words(text).map { word in String(String.UnicodeScalarView(word.map { Unicode.Scalar($0.code)! })) }
    return spelt.joined(separator: " ")
  }

  /// The inputs of a model.
  /// - Parameters:
  ///   - parts: the pieces of a text, or of each of two.
  ///   - length: the most tokens; of two long parts each gets half, and the longer one (on a tie, the second) an odd token.
  public func encode(_ parts: [[Piece]], length: Int) -> Row {
    // MPNet's special tokens, or BERT's.
    let isMPNet = ids["<s>".unicodeScalars.map(\.value)] == 0
    let (start, end, between) = isMPNet ? ("<s>", "</s>", 2) : ("[CLS]", "[SEP]", 1)
    let room = length - 2 - (parts.count > 1 ? between : 0)
    let (first, other) = (parts[0].count, parts.count > 1 ? parts[1].count : 0)
    let kept = min(first, max(room - other, (room + (first > other ? 1 : 0)) / 2))
    let lengths = Array([kept, min(other, room - kept)].prefix(parts.count))
    var tokens = [id(start)]
    var segments = [0]
    for (segment, part) in parts.enumerated() {
      let marks = segment > 0 ? between - 1 : 0
      tokens += Array(repeating: id(end), count: marks)
      segments += Array(repeating: 0, count: marks)
      tokens += part.prefix(lengths[segment]).map(\.id) + [id(end)]
      segments += Array(repeating: segment, count: lengths[segment] + 1)
    }
    return Row(tokenIds: tokens, segmentIds: segments, lengths: lengths)
  }

  private func words(_ text: String) -> [[Character]] {
    var words: [[Character]] = []
    var open = false
    for (place, source) in text.unicodeScalars.enumerated() {
      for code in normalize(source.value) {
        let alone = within("isolated", code)
        if alone || code == 0x20 { open = false }
        if code == 0x20 { continue }
        if !open { words.append([]) }
        words[words.count - 1].append(Character(code: code, place: place))
        open = !alone
      }
    }
    return words
  }

  private func normalize(_ code: UInt32) -> [UInt32] {
    if within("dropped", code) { return [] }
    if within("blank", code) { return [0x20] }
    if within("syllables", code) { return letters(code - 0xAC00) }
    return replaced[code] ?? [code]
  }

  /// How syllables of Hangul are made of their letters (The Unicode Standard, section 3.12).
  private func letters(_ syllable: UInt32) -> [UInt32] {
    let (vowels, tails): (UInt32, UInt32) = (21, 28)
    let pair = [0x1100 + syllable / (vowels * tails), 0x1161 + syllable / tails % vowels]
    return syllable % tails == 0 ? pair : pair + [0x11A7 + syllable % tails]
  }

  /// The longest piece that is known first; the word is unknown as a whole where a rest is not known.
  private func cut(_ word: [Character]) -> [Piece] {
    let unknown = [Piece(id: id("[UNK]"), start: word[0].place, end: word[word.count - 1].place + 1, begins: true)]
    if word.count > WordPiece.longestWord { return unknown }
    var pieces: [Piece] = []
    var first = 0
    while first < word.count {
      guard let last = stride(from: word.count, to: first, by: -1).first(where: { find(word, first, $0) != nil }) else {
        return unknown
      }
      let id = find(word, first, last)!
      pieces.append(Piece(id: id, start: word[first].place, end: word[last - 1].place + 1, begins: first == 0))
      first = last
    }
    return pieces
  }

  private func find(_ word: [Character], _ first: Int, _ last: Int) -> Int? {
    ids[(first > 0 ? [0x23, 0x23] : []) + word[first..<last].map(\.code)]
  }

  private func id(_ special: String) -> Int {
    ids[special.unicodeScalars.map(\.value)]!
  }

  private func within(_ kind: String, _ code: UInt32) -> Bool {
    let intervals = ranges[kind]!
    var (low, high) = (0, intervals.count)
    while low < high {
      let middle = (low + high) / 2
      if intervals[middle].upperBound < code { low = middle + 1 } else { high = middle }
    }
    return low < intervals.count && intervals[low].contains(code)
  }
}
