/// BPE of bytes or characters (Radford et al. 2019), unigram (Kudo 2018), and WordPiece with added tokens, by rules
/// alone: it splits text as the model's training did, whatever Unicode the device knows. To copy into an app, with
/// `vocab.txt` and `subwords.txt` of a pushed folder.

/// A token: its id, its place in `text.unicodeScalars`, and whether it begins a word.
public struct Piece: Equatable {
  public let id: Int
  public let start: Int
  public let end: Int
  public let begins: Bool
}

/// The inputs of a model, without padding, and the number of tokens of each text.
public struct Row {
  public let tokenIds: [Int]
  public let segmentIds: [Int]
  public let lengths: [Int]
}

public struct Subwords {
  /// A code point, and the part of the text that it comes from.
  private struct Character {
    var code: UInt32
    var start: Int
    var end: Int

    func with(_ code: UInt32) -> Character { Character(code: code, start: start, end: end) }
  }

  /// A code point; 1 for an inserted one, 0 for one that replaces another, -N for one before N that go.
  private struct Change {
    var code: UInt32
    var kind: Int
  }

  private struct Token {
    var id: Int
    var start: Int
    var end: Int
  }

  private struct Merge {
    let rank: Int
    let id: Int
  }

  private struct AddedToken {
    let id: Int
    let special: Bool
    let flags: [Bool]
    let codes: [UInt32]
  }

  private struct Step {
    let words: [String]
    var maps: [[UInt32]: [UInt32]] = [:]
    var orders: [UInt32: Int] = [:]
    var pairs: [[UInt32]: UInt32] = [:]
  }

  /// Below the lowest score (`kUnkPenalty` of google/sentencepiece).
  private static let unknownPenalty = 10.0
  /// Bytes; longer ones are replaced character by character.
  private static let longestGrapheme = 5
  private static let space: UInt32 = 0x20
  private static let lineEnds: Set<UInt32> = [0xA, 0xD]
  // Of a word, in WordPiece.
  private static let continuation: [UInt32] = [0x23, 0x23]
  private static let contractions = ["s", "t", "re", "ve", "m", "ll", "d"].map { $0.unicodeScalars.map(\.value) }
  // How syllables of Hangul are made of their letters (The Unicode Standard, section 3.12).
  private static let syllables: Range<UInt32> = 0xAC00..<0xD7A4
  private static let (leads, vowels, tails): (UInt32, UInt32, UInt32) = (0x1100, 0x1161, 0x11A7)
  private static let (leadCount, vowelCount, tailCount): (UInt32, UInt32, UInt32) = (19, 21, 28)

  // By scalars: strings of Swift are equal where they only look alike.
  private let pieces: [[UInt32]]
  private var kind = ""
  private var row: [Int] = []
  private var mark: UInt32 = 0
  private var special: Set<Int> = []
  private var trims: [Bool] = []
  private var added: [String: [AddedToken]] = ["raw": [], "normalized": []]
  private var steps: [Step] = []
  private var splits: [[String]] = []
  private var classes: [String: [ClosedRange<UInt32>]] = [:]
  private var bytes: [Int] = []
  private var letterIds: [UInt32: Int] = [:]
  private var wordIds: [[UInt32]: Int] = [:]
  private var longestWord = 0
  private var merges: [Int: Merge] = [:]
  private var scores: [Double] = []
  // What unigram looks up, how long the longest of it is, and the score of unknown text.
  private var ids: [[UInt32]: Int] = [:]
  private var longest = 0
  private var unknownScore = 0.0

  /// - Parameters:
  ///   - pieces: of the vocabulary, by id.
  ///   - rules: the content of `subwords.txt`.
  public init(pieces: [String], rules: String) {
    self.pieces = pieces.map { $0.unicodeScalars.map(\.value) }
    for line in rules.split(separator: "\n") {
      let words = line.split(separator: " ").map(String.init)
      read(words[0], Array(words.dropFirst()))
    }
    for id in scores.indices {
      ids[self.pieces[id]] = id
      longest = max(longest, self.pieces[id].count)
    }
    unknownScore = (scores.min() ?? 0) - Subwords.unknownPenalty
  }

  private mutating func read(_ name: String, _ words: [String]) {
    let last = steps.count - 1
    switch name {
    case "kind": kind = words[0]
    case "row": row = words.map { Int($0)! }
    case "mark": mark = UInt32(words[0], radix: 16)!
    case "special": special = Set(words.map { Int($0)! })
    case "trim": trims.append(words[0] == "1")
    case "added":
      let flags = words[3].map { $0 == "1" }
      let (id, special) = (Int(words[2])!, words[1] == "1")
      added[words[0]]!.append(AddedToken(id: id, special: special, flags: flags, codes: codes(words.dropFirst(4))))
    case "step": steps.append(Step(words: words))
    case "map": steps[last].maps[codes(words[0].split(separator: ".").map(String.init))] = codes(words.dropFirst())
    case "order": steps[last].orders[UInt32(words[0], radix: 16)!] = Int(words[1])!
    case "pair": steps[last].pairs[codes(words.prefix(2))] = UInt32(words[2], radix: 16)!
    case "split": splits.append(words)
    case "class": classes[words[0], default: []].append(UInt32(words[1], radix: 16)!...UInt32(words[2], radix: 16)!)
    case "words":
      for id in 0..<Int(words[0])! { wordIds[pieces[id]] = id }
      longestWord = Int(words[1])!
    case "bytes": bytes = words.map { Int($0)! }
    case "letter": letterIds[UInt32(words[0], radix: 16)!] = Int(words[1])!
    case "merge": merges[pair(Int(words[0])!, Int(words[1])!)] = Merge(rank: merges.count, id: Int(words[2])!)
    case "score": scores.append(Double(words[0])!)
    default: preconditionFailure("subwords.txt must hold lines of rules, got \(name)")
    }
  }

  /// The tokens of a text, without special tokens.
  public func tokenize(_ text: String) -> [Piece] {
    let scalars = text.unicodeScalars.map(\.value)
    let characters = scalars.enumerated().map { Character(code: $1, start: $0, end: $0 + 1) }
    var tokens: [Token] = []
    for (id, part) in separate(characters, "raw") {
      for (inner, piece) in id == nil ? separate(normalize(part), "normalized") : [(id, part)] {
        if let inner {
          tokens.append(Token(id: inner, start: piece[0].start, end: piece[piece.count - 1].end))
        } else {
          for word in split(piece) { tokens += cutWord(word) }
        }
      }
    }
    return tokens.enumerated().map { finish(scalars, $1, $0) }
  }

  /// The inputs of a model.
  /// - Parameters:
  ///   - parts: the tokens of a text, or of each of two.
  ///   - length: the most tokens; of two long parts each gets half, and the longer one (on a tie, the second) an odd token.
  public func encode(_ parts: [[Piece]], length: Int) -> Row {
    let (cls, sep, between, second) = (row[0], row[1], row[3], row[4])
    let room = length - 2 - (parts.count > 1 ? between : 0)
    let (first, other) = (parts[0].count, parts.count > 1 ? parts[1].count : 0)
    let kept = min(first, max(room - other, (room + (first > other ? 1 : 0)) / 2))
    let lengths = Array([kept, min(other, room - kept)].prefix(parts.count))
    var tokens = [cls]
    var segments = [0]
    for (segment, part) in parts.enumerated() {
      let marks = segment > 0 ? between - 1 : 0
      tokens += Array(repeating: sep, count: marks) + part.prefix(lengths[segment]).map(\.id) + [sep]
      segments += Array(repeating: 0, count: marks) + Array(repeating: segment * second, count: lengths[segment] + 1)
    }
    return Row(tokenIds: tokens, segmentIds: segments, lengths: lengths)
  }

  private func cutWord(_ word: [Character]) -> [Token] {
    switch kind {
    case "unigram": return search(word)
    case "wordpiece": return spell(word)
    default: return merge(word)
    }
  }

  /// A token whose place has no white space in front, and none of what byte-level BPE trims.
  private func finish(_ text: [UInt32], _ token: Token, _ place: Int) -> Piece {
    let piece = pieces[token.id]
    var (start, end) = (token.start, token.end)
    for prefix in trims {
      let blanks = piece.map { $0 == mark || within("blank", $0) }
      let leading = blanks.prefix { $0 }.count
      let trailing = blanks.reversed().prefix { $0 }.count
      let kept = leading > 0 && prefix && (place == 0 || start == 0) ? 1 : 0
      start = min(start + leading - kept, end)
      if end >= trailing { end = max(end - trailing, start) }
    }
    while start < end && within("blank", text[start]) { start += 1 }
    let opens = kind == "wordpiece" ? !piece.starts(with: Subwords.continuation) : piece.first == mark
    let begins = place == 0 || opens || special.contains(token.id)
    return Piece(id: token.id, start: start, end: end, begins: begins)
  }

  /// The parts of a text between added tokens, and these; the longest of several counts, special ones are text.
  private func separate(_ text: [Character], _ place: String) -> [(Int?, [Character])] {
    var parts: [(Int?, [Character])] = []
    func isOf(_ name: String, _ index: Int) -> Bool {
      index >= 0 && index < text.count && within(name, text[index].code)
    }
    var (first, start) = (0, 0)
    while start < text.count {
      let longest = added[place]!.filter { starts(text, start, $0.codes) }.max { $0.codes.count < $1.codes.count }
      let end = start + (longest?.codes.count ?? 1)
      if let longest, !longest.special, !(longest.flags[0] && (isOf("word", start - 1) || isOf("word", end))) {
        var (from, to) = (start, end)
        while longest.flags[1] && from > first && isOf("white", from - 1) { from -= 1 }
        while longest.flags[2] && isOf("white", to) { to += 1 }
        if first < from { parts.append((nil, Array(text[first..<from]))) }
        parts.append((longest.id, Array(text[from..<to])))
        first = to
      }
      start = end
    }
    if first < text.count { parts.append((nil, Array(text[first...]))) }
    return parts
  }

  private func normalize(_ text: [Character]) -> [Character] {
    steps.reduce(text) { done, step in
      switch step.words[0] {
      case "characters": return done.flatMap { one in (step.maps[[one.code]] ?? [one.code]).map(one.with) }
      case "spaced":
        return done.flatMap { one -> [Character] in
          within(step.words[1], one.code) ? [one.with(Subwords.space), one, one.with(Subwords.space)] : [one]
        }
      case "strip": return strip(done, left: step.words[1] == "1", right: step.words[2] == "1")
      case "replace":
        return replace(done, codes(step.words[1].split(separator: ".").map(String.init)), codes(step.words.dropFirst(2)))
      case "collapse": return collapse(done, step.words[1], step.words[2], codes(step.words.dropFirst(3)))
      case "decomposed": return change(done, decompose(done, step))
      case "composed": return change(done, compose(decompose(done, step), step))
      case "graphemes": return replaceGraphemes(done, step)
      default: preconditionFailure("subwords.txt must hold steps of normalizers, got \(step.words[0])")
      }
    }
  }

  private func strip(_ text: [Character], left: Bool, right: Bool) -> [Character] {
    var inner = ArraySlice(text)
    if left { inner = inner.drop { within("white", $0.code) } }
    while right, let last = inner.last, within("white", last.code) { inner.removeLast() }
    return Array(inner)
  }

  /// Replaces a sequence of characters, each with the place of its last one.
  private func replace(_ text: [Character], _ key: [UInt32], _ codes: [UInt32]) -> [Character] {
    var replaced: [Character] = []
    var place = 0
    while place < text.count {
      if starts(text, place, key) {
        place += key.count
        replaced += codes.map(text[place - 1].with)
      } else {
        replaced.append(text[place])
        place += 1
      }
    }
    return replaced
  }

  /// Replaces runs of two and more characters of a class, and characters of another that stand alone.
  private func collapse(_ text: [Character], _ run: String, _ alone: String, _ codes: [UInt32]) -> [Character] {
    let inRun = text.map { within(run, $0.code) }
    return text.indices.flatMap { place -> [Character] in
      let isNext = place + 1 < text.count && inRun[place + 1]
      let isRun = inRun[place] && (isNext || (place > 0 && inRun[place - 1]))
      if !isRun && !within(alone, text[place].code) { return [text[place]] }
      return isRun && isNext ? [] : codes.map(text[place].with)
    }
  }

  /// A changed text; an inserted character has the place of the one before (`NormalizedString` of `tokenizers`).
  private func change(_ text: [Character], _ changes: [Change]) -> [Character] {
    var place = 0
    return changes.map { change in
      let index = change.kind > 0 ? place - 1 : min(place, text.count - 1)
      let source = index >= 0 && index < text.count ? text[index] : Character(code: 0, start: 0, end: 0)
      if change.kind <= 0 { place += 1 - change.kind }
      return source.with(change.code)
    }
  }

  /// Decomposed characters, marks in canonical order, as changes.
  private func decompose(_ text: [Character], _ step: Step) -> [Change] {
    var changes: [Change] = []
    var marks: [(order: Int, change: Change)] = []
    func close() {
      // Marks of one class keep their order.
      let sorted = marks.enumerated().sorted { ($0.element.order, $0.offset) < ($1.element.order, $1.offset) }
      changes += sorted.map(\.element.change)
      marks = []
    }
    for character in text {
      for (place, part) in (step.maps[[character.code]] ?? letters(character.code)).enumerated() {
        let change = Change(code: part, kind: min(place, 1))
        if let order = step.orders[part] {
          marks.append((order, change))
        } else {
          close()
          changes.append(change)
        }
      }
    }
    close()
    return changes
  }

  /// Composes decomposed changes; a mark that is kept blocks others of its class and lower ones.
  private func compose(_ changes: [Change], _ step: Step) -> [Change] {
    var composed: [Change] = []
    var (starter, blocked) = (-1, -1)
    for change in changes {
      let order = step.orders[change.code] ?? 0
      let isBlocked = starter < 0 || blocked >= 0 && blocked >= order
      if !isBlocked, let code = join(composed[starter].code, change.code, step) {
        composed[starter] = Change(code: code, kind: composed[starter].kind + change.kind - 1)
        continue
      }
      composed.append(change)
      if order == 0 {
        (starter, blocked) = (composed.count - 1, -1)
      } else if starter >= 0 {
        blocked = order
      }
    }
    return composed
  }

  private func join(_ first: UInt32, _ second: UInt32, _ step: Step) -> UInt32? {
    let (lead, vowel, tail) = (first &- Subwords.leads, second &- Subwords.vowels, second &- Subwords.tails)
    if lead < Subwords.leadCount && vowel < Subwords.vowelCount {
      return Subwords.syllables.lowerBound + (lead * Subwords.vowelCount + vowel) * Subwords.tailCount
    }
    if isOpen(first) && tail > 0 && tail < Subwords.tailCount { return first + tail }
    return step.pairs[[first, second]]
  }

  /// The letters of a syllable of Hangul; another character itself.
  private func letters(_ code: UInt32) -> [UInt32] {
    if !Subwords.syllables.contains(code) { return [code] }
    let syllable = code - Subwords.syllables.lowerBound
    let lead = Subwords.leads + syllable / (Subwords.vowelCount * Subwords.tailCount)
    let vowel = Subwords.vowels + syllable / Subwords.tailCount % Subwords.vowelCount
    let tail = syllable % Subwords.tailCount
    return tail == 0 ? [lead, vowel] : [lead, vowel, Subwords.tails + tail]
  }

  private func isOpen(_ code: UInt32) -> Bool {
    Subwords.syllables.contains(code) && (code - Subwords.syllables.lowerBound) % Subwords.tailCount == 0
  }

  /// SentencePiece's replacements, as `tokenizers` makes them: of graphemes, or of their characters.
  private func replaceGraphemes(_ text: [Character], _ step: Step) -> [Character] {
    var changes: [Change] = []
    var modified = false
    func put(_ count: Int, _ codes: [UInt32]) {
      modified = true
      changes += codes.enumerated().map { Change(code: $1, kind: $0 < count ? 0 : 1) }
      if codes.count < count && !changes.isEmpty { changes[changes.count - 1].kind -= count - codes.count }
    }
    for group in groups(text) {
      let isShort = group.map(width).reduce(0, +) <= Subwords.longestGrapheme
      let lengths = isShort ? Array(1...group.count) : []
      if let whole = lengths.lazy.compactMap({ step.maps[Array(group.prefix($0))] }).first {
        put(group.count, whole)
        continue
      }
      for code in group {
        if let mapped = step.maps[[code]] { put(1, mapped) } else { changes.append(Change(code: code, kind: 0)) }
      }
    }
    return modified ? change(text, changes) : text
  }

  /// Graphemes (Unicode Standard Annex 29, of which flags are longer than what is replaced).
  private func groups(_ text: [Character]) -> [[UInt32]] {
    var groups: [[UInt32]] = []
    var (picture, conjunct) = ("", "")
    for code in text.map(\.code) {
      if let before = groups.last?.last, joins(before, code, picture, conjunct) {
        groups[groups.count - 1].append(code)
      } else {
        groups.append([code])
      }
      if within("picture", code) {
        picture = "open"
      } else if picture == "open" && code == 0x200D {
        picture = "joined"
      } else if !(picture == "open" && within("extend", code)) {
        picture = ""
      }
      if within("consonant", code) {
        conjunct = "open"
      } else if conjunct != "" && within("linker", code) {
        conjunct = "linked"
      } else if !within("between", code) {
        conjunct = ""
      }
    }
    return groups
  }

  private func joins(_ before: UInt32, _ after: UInt32, _ picture: String, _ conjunct: String) -> Bool {
    if within("control", before) || within("control", after) { return false }
    if within("extend", after) || within("spacing", after) || within("prepend", before) { return true }
    if picture == "joined" && within("picture", after) { return true }
    if conjunct == "linked" && within("consonant", after) { return true }
    if within("lead", before) {
      return within("lead", after) || within("vowel", after) || Subwords.syllables.contains(after)
    }
    if within("vowel", before) || isOpen(before) { return within("vowel", after) || within("tail", after) }
    return (within("tail", before) || Subwords.syllables.contains(before)) && within("tail", after)
  }

  /// The words of a text, which are split further into tokens.
  private func split(_ text: [Character]) -> [[Character]] {
    splits.reduce([text]) { words, split in
      words.flatMap { word -> [[Character]] in
        switch split[0] {
        case "white": return cut(word, "dropped") { within("white", $0) }
        case "marks": return cut(word, "alone") { within("punctuation", $0) }
        case "runs": return cutAt(word, runEnd)
        case "words": return splitAtMarks(word, UInt32(split[1], radix: 16)!, split[2], cuts: split[3] == "1")
        case "bytes": return splitBytes(word, prefix: split[1] == "1")
        default: preconditionFailure("subwords.txt must hold pre-tokenizers, got \(split[0])")
        }
      }
    }
  }

  /// Words with a mark in front of each (SentencePiece).
  private func splitAtMarks(_ text: [Character], _ code: UInt32, _ scheme: String, cuts: Bool) -> [[Character]] {
    var word = text.map { $0.code == Subwords.space ? $0.with(code) : $0 }
    if let first = word.first, first.code != code, scheme == "always" || scheme == "first" && first.start == 0 {
      word.insert(first.with(code), at: 0)
    }
    return cuts ? cut(word, "first") { $0 == code } : [word]
  }

  /// The words of GPT-2's expression: 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
  private func splitBytes(_ text: [Character], prefix: Bool) -> [[Character]] {
    var word = text
    if prefix, let first = text.first, first.code != Subwords.space { word.insert(first.with(Subwords.space), at: 0) }
    return cutAt(word, wordEnd)
  }

  private func cutAt(_ text: [Character], _ findEnd: ([Character], [String], Int) -> Int) -> [[Character]] {
    let kinds = text.map { one in ["letter", "number", "space"].first { within($0, one.code) } ?? "other" }
    var words: [[Character]] = []
    var first = 0
    while first < text.count {
      let last = findEnd(text, kinds, first)
      words.append(Array(text[first..<last]))
      first = last
    }
    return words
  }

  /// The end of a word of Llama 3's expression, see `LLAMA_WORDS` of the library.
  private func runEnd(_ text: [Character], _ kinds: [String], _ first: Int) -> Int {
    func kindAt(_ place: Int) -> String { place < text.count ? kinds[place] : "" }
    func isLineEnd(_ place: Int) -> Bool { place < text.count && Subwords.lineEnds.contains(text[place].code) }
    func behind(_ start: Int, _ expected: String) -> Int {
      var end = start
      while kindAt(end) == expected { end += 1 }
      return end
    }
    func isLetter(_ letter: UInt32, _ place: Int) -> Bool {
      place < text.count && within(String(Unicode.Scalar(letter)!), text[place].code)
    }
    if text[first].code == 0x27 {
      let rest = Subwords.contractions.first { name in name.indices.allSatisfy { isLetter(name[$0], first + 1 + $0) } }
      if let rest { return first + 1 + rest.count }
    }
    let opens = kindAt(first) != "number" && !isLineEnd(first) && kindAt(first + 1) == "letter"
    if kindAt(first) == "letter" || opens { return behind(first + 1, "letter") }
    if kindAt(first) == "number" { return min(behind(first, "number"), first + 3) }
    let start = text[first].code == Subwords.space && kindAt(first + 1) == "other" ? first + 1 : first
    var end = behind(start, kindAt(start))
    if kindAt(start) == "other" {
      while isLineEnd(end) { end += 1 }
      return end
    }
    end = behind(first, "space")
    if let place = (first..<end).last(where: { isLineEnd($0) }) { return place + 1 }
    // The last space of several belongs to the next word.
    return end < text.count && end - first > 1 ? end - 1 : end
  }

  private func wordEnd(_ text: [Character], _ kinds: [String], _ first: Int) -> Int {
    let rest = text[first].code == 0x27 ? Subwords.contractions.first { starts(text, first + 1, $0) } : nil
    if let rest { return first + 1 + rest.count }
    let isNext = text[first].code == Subwords.space && first + 1 < text.count && kinds[first + 1] != "space"
    let start = isNext ? first + 1 : first
    var end = start
    while end < text.count && kinds[end] == kinds[start] { end += 1 }
    // The last space of several belongs to the next word.
    return kinds[start] == "space" && end < text.count && end - first > 1 ? end - 1 : end
  }

  /// Parts of a text; a separator is dropped, or is the first or all of its part.
  private func cut(_ text: [Character], _ place: String, _ isSeparator: (UInt32) -> Bool) -> [[Character]] {
    var parts: [[Character]] = []
    var open = false
    for character in text {
      let separates = isSeparator(character.code)
      if separates { open = false }
      if separates && place == "dropped" { continue }
      if !open { parts.append([]) }
      open = !(separates && place == "alone")
      parts[parts.count - 1].append(character)
    }
    return parts
  }

  /// WordPiece: the longest token that a word, or its rest, begins with; one unknown token where there is none.
  private func spell(_ word: [Character]) -> [Token] {
    let letters = word.map(\.code)
    var tokens: [Token] = []
    var first = 0
    while first < word.count && word.count <= longestWord {
      let prefix = first > 0 ? Subwords.continuation : []
      var last = word.count
      while last > first && wordIds[prefix + letters[first..<last]] == nil { last -= 1 }
      guard last > first, let id = wordIds[prefix + letters[first..<last]] else { break }
      tokens.append(Token(id: id, start: word[first].start, end: word[last - 1].end))
      first = last
    }
    if first == word.count { return tokens }
    return [Token(id: row[2], start: word[0].start, end: word[word.count - 1].end)]
  }

  /// BPE: a word that is a token, else the pair of the lowest rank is merged first, the leftmost of several.
  private func merge(_ word: [Character]) -> [Token] {
    var tokens = word.flatMap { one -> [Token] in
      let ids = letterIds[one.code].map { [$0] } ?? String(Unicode.Scalar(one.code)!).utf8.map { bytes[Int($0)] }
      return ids.map { Token(id: $0, start: one.start, end: one.end) }
    }
    if let id = wordIds[tokens.flatMap { pieces[$0.id] }] {
      return [Token(id: id, start: word[0].start, end: word[word.count - 1].end)]
    }
    while true {
      let pairs = zip(tokens, tokens.dropFirst()).compactMap { find($0, $1) }
      guard let best = pairs.min(by: { $0.rank < $1.rank }) else { return tokens }
      var merged: [Token] = []
      var place = 0
      // A merge may allow one of a lower rank beside it, which comes first then.
      var lower = false
      while place < tokens.count && !lower {
        let next = place + 1 < tokens.count ? tokens[place + 1] : nil
        if let next, find(tokens[place], next)?.rank == best.rank {
          let token = Token(id: best.id, start: tokens[place].start, end: next.end)
          let beside = [find(merged.last, token), find(token, place + 2 < tokens.count ? tokens[place + 2] : nil)]
          lower = beside.contains { ($0?.rank ?? best.rank) < best.rank }
          merged.append(token)
          place += 2
        } else {
          merged.append(tokens[place])
          place += 1
        }
      }
      tokens = merged + tokens.dropFirst(place)
    }
  }

  private func find(_ one: Token?, _ other: Token?) -> Merge? {
    guard let one, let other else { return nil }
    return merges[pair(one.id, other.id)]
  }

  private func pair(_ first: Int, _ second: Int) -> Int { first * pieces.count + second }

  /// Unigram: the tokens with the highest sum of scores (Viterbi 1967); of equal sums the first one that is found.
  private func search(_ word: [Character]) -> [Token] {
    let unknown = row[2]
    var best = Array(repeating: (score: 0.0, first: -1, id: unknown), count: word.count + 1)
    for first in word.indices {
      func offer(_ last: Int, _ score: Double, _ id: Int) {
        let sum = score + best[first].score
        if best[last].first < 0 || sum > best[last].score { best[last] = (sum, first, id) }
      }
      var piece: [UInt32] = []
      var isKnown = false
      for last in first + 1..<min(word.count, first + longest) + 1 {
        piece.append(word[last - 1].code)
        guard let id = ids[piece] else { continue }
        offer(last, scores[id], id)
        isKnown = isKnown || last == first + 1
      }
      if !isKnown { offer(first + 1, unknownScore, unknown) }
    }
    var tokens: [Token] = []
    var last = word.count
    while last > 0 {
      let (_, first, id) = best[last]
      if id == unknown, let next = tokens.last, next.id == id {
        // Unknown characters side by side are one token.
        tokens[tokens.count - 1].start = word[first].start
      } else {
        tokens.append(Token(id: id, start: word[first].start, end: word[last - 1].end))
      }
      last = first
    }
    return tokens.reversed()
  }

  private func within(_ name: String, _ code: UInt32) -> Bool {
    let ranges = classes[name] ?? []
    var (low, high) = (0, ranges.count)
    while low < high {
      let middle = (low + high) / 2
      if ranges[middle].upperBound < code { low = middle + 1 } else { high = middle }
    }
    return low < ranges.count && ranges[low].contains(code)
  }

  private func starts(_ text: [Character], _ start: Int, _ codes: [UInt32]) -> Bool {
    start + codes.count <= text.count && zip(text[start...], codes).allSatisfy { $0.code == $1 }
  }

  private func codes(_ words: some Sequence<String>) -> [UInt32] { words.map { UInt32($0, radix: 16)! } }

  private func width(_ code: UInt32) -> Int { code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4 }
}
