import Foundation

/// A table of labels beside a model of vectors: labels are added, renamed and removed where the model runs.
///
/// To copy into an app, with `label_table.bin`, whose content `bytes` is, or what `toBytes` returned. Scores are those of a
/// probabilistic linear discriminant analysis, as the library's `LabelTable` has them. Vectors are those of the model that the
/// table belongs to. The table is a value: a copy for another thread changes by itself.
public struct LabelTable {
  public enum Failure: Error { case damaged, wrongChange(String), otherSpace(String) }

  /// A label, nil for none of the labels; its probability among the labels; and its score.
  public struct Answer {
    public let label: String?
    public let probability: Double
    public let score: Double
  }

  private enum Source: Int { case rows, examples, name }

  private struct Label {
    let sums: [Float]
    let weight: Double
    let source: Source
    let added: Int
    let addedSums: [Float]
    let squares: [Double]
    let products: [Double]
    let constant: Double
    let bias: Double
  }

  private typealias Entry = (name: String, label: Label)

  /// Up to so many examples, an added label has the whole bias of the table.
  private static let biasExamples = 8.0

  /// The identifier of the space: exports of another one cannot be merged.
  public let space: String
  private let width: Int
  private let nameCount: Double
  private let temperature: Double
  private let threshold: Double
  private let addedBias: Double
  private let center: [Float]
  private let variances: [Float]
  private let nameOffset: [Float]
  private let axes: [Float]
  private let head: [UInt8]
  private var entries: [Entry] = []
  private var history: [[Entry]] = []

  /// - Throws: `damaged` if the bytes are not those of a whole table.
  public init(bytes: [UInt8]) throws {
    var reader = try Reader(bytes, "LABELSV1")
    width = try reader.integer()
    let count = try reader.integer()
    nameCount = try reader.double()
    temperature = try reader.double()
    threshold = try reader.double()
    addedBias = try reader.double()
    space = try reader.text(16)
    center = try reader.floats(width)
    variances = try reader.floats(width)
    nameOffset = try reader.floats(width)
    axes = try reader.halves(width * width)
    head = Array(bytes[0..<reader.place])
    for _ in 0..<count {
      let name = try reader.text(try reader.integer())
      guard let source = Source(rawValue: try reader.integer()) else { throw Failure.damaged }
      let weight = try reader.double()
      let added = try reader.integer()
      let sums = try reader.floats(width)
      let addedSums = try reader.floats(width)
      entries.append((name: name, label: label(sums, weight, source, added, addedSums)))
    }
    try reader.end()
  }

  /// The labels in their order.
  public var labels: [String] { entries.map { $0.name } }

  /// The answer for a vector.
  public func answer(_ vector: [Float]) throws -> Answer {
    guard !entries.isEmpty else { throw Failure.wrongChange("the table must hold at least one label") }
    let places = try project(vector)
    var scores = [Double]()
    for (_, label) in entries {
      var score = label.constant
      for axis in 0..<width {
        score += places[axis] * (places[axis] * label.squares[axis] + label.products[axis])
      }
      scores.append(score)
    }
    let biased = zip(scores, entries).map { $0 - $1.label.bias }
    var best = 0
    for index in biased.indices where biased[index] > biased[best] { best = index }
    let total = biased.reduce(0.0) { $0 + exp(($1 - biased[best]) / temperature) }
    let name = scores[best] >= threshold ? entries[best].name : nil
    return Answer(label: name, probability: 1 / total, score: scores[best])
  }

  /// Adds a label by the vectors of its examples; without any, by the vector of its name.
  /// - Throws: `wrongChange` if the label exists or is empty, or there is neither an example nor a name.
  public mutating func add(_ name: String, _ vectors: [[Float]], nameVector: [Float]? = nil) throws {
    try checkNew(name)
    if vectors.isEmpty && nameVector == nil { throw Failure.wrongChange("a label must have an example or a name") }
    var start = empty
    if let vector = nameVector {
      let places = try project(vector)
      let sums = (0..<width).map { Float(nameCount * (places[$0] + Double(nameOffset[$0]))) }
      start = label(sums, nameCount, .name, 0, empty.addedSums)
    }
    let grownLabel = try grown(start, try sum(vectors), vectors.count)
    change(entries + [(name: name, label: grownLabel)])
  }

  /// Adds the vectors of examples to a label.
  /// - Throws: `wrongChange` if there is no such label or no example.
  public mutating func addExamples(_ name: String, _ vectors: [[Float]]) throws {
    let index = try find(name)
    if vectors.isEmpty { throw Failure.wrongChange("there must be an example") }
    var changed = entries
    changed[index].label = try grown(entries[index].label, try sum(vectors), vectors.count)
    change(changed)
  }

  /// Gives a label another name.
  /// - Throws: `wrongChange` if there is no such label, or the other one exists.
  public mutating func rename(_ name: String, _ other: String) throws {
    let index = try find(name)
    try checkNew(other)
    var changed = entries
    changed[index].name = other
    change(changed)
  }

  /// Removes a label.
  /// - Throws: `wrongChange` if there is no such label.
  public mutating func remove(_ name: String) throws {
    var changed = entries
    changed.remove(at: try find(name))
    change(changed)
  }

  /// Takes back the last change since the table was read.
  /// - Throws: `wrongChange` if there is none.
  public mutating func undo() throws {
    guard let before = history.popLast() else { throw Failure.wrongChange("undo must follow a change") }
    entries = before
  }

  /// The counts and sums of the examples that were added, as bytes; no text can be read from them.
  public func exportAdded() -> [UInt8] {
    let added = entries.filter { $0.label.added > 0 }
    var bytes = Array("LABELSX1".utf8) + Self.bytes(width) + Self.bytes(added.count) + Array(space.utf8)
    for (name, label) in added {
      bytes += Self.bytes(name.utf8.count) + Array(name.utf8) + Self.bytes(label.added) + Self.bytes(label.addedSums)
    }
    return bytes
  }

  /// Adds what `exportAdded` of another table of the same space returned: one change.
  /// - Throws: `otherSpace` for sums of another encoder, `damaged` if the bytes are not whole.
  public mutating func merge(_ bytes: [UInt8]) throws {
    var reader = try Reader(bytes, "LABELSX1")
    let theirWidth = try reader.integer()
    let count = try reader.integer()
    let theirs = try reader.text(16)
    guard theirs == space else { throw Failure.otherSpace(theirs) }
    var changed = entries
    for _ in 0..<count {
      let name = try reader.text(try reader.integer())
      let added = try reader.integer()
      let sums = try reader.floats(theirWidth).map { Double($0) }
      guard added > 0, theirWidth == width else { throw Failure.damaged }
      if let index = changed.firstIndex(where: { $0.name == name }) {
        changed[index].label = try grown(changed[index].label, sums, added)
      } else {
        changed.append((name: name, label: try grown(empty, sums, added)))
      }
    }
    try reader.end()
    change(changed)
  }

  /// The table as bytes, which the initializer reads.
  public func toBytes() -> [UInt8] {
    var bytes = head
    bytes.replaceSubrange(12..<16, with: Self.bytes(entries.count))
    for (name, label) in entries {
      bytes += Self.bytes(name.utf8.count) + Array(name.utf8) + Self.bytes(label.source.rawValue)
      bytes += Self.little(label.weight.bitPattern) + Self.bytes(label.added)
      bytes += Self.bytes(label.sums) + Self.bytes(label.addedSums)
    }
    return bytes
  }

  private var empty: Label {
    let none = [Float](repeating: 0, count: width)
    return label(none, 0, .examples, 0, none)
  }

  private mutating func change(_ changed: [Entry]) {
    history.append(entries)
    entries = changed
  }

  private func find(_ name: String) throws -> Int {
    guard let index = entries.firstIndex(where: { $0.name == name }) else {
      throw Failure.wrongChange("\(name) must be one of the labels")
    }
    return index
  }

  private func checkNew(_ name: String) throws {
    if name.trimmingCharacters(in: .whitespacesAndNewlines).isEmpty { throw Failure.wrongChange("a label must not be empty") }
    if entries.contains(where: { $0.name == name }) { throw Failure.wrongChange("\(name) must be a new label") }
  }

  private func checkFinite(_ vector: [Float]) throws {
    if !vector.allSatisfy({ $0.isFinite }) { throw Failure.wrongChange("vectors must be finite numbers") }
  }

  private func grown(_ old: Label, _ more: [Double], _ count: Int) throws -> Label {
    func plus(_ one: [Float]) -> [Float] { zip(one, more).map { Float(Double($0) + $1) } }
    // One that is not would be in the score of each text with this label, and no text would get another label.
    try checkFinite(plus(old.sums))
    return label(plus(old.sums), old.weight + Double(count), old.source, old.added + count, plus(old.addedSums))
  }

  /// A label with the factors of its normal density (Ioffe 2006), as a polynomial of coordinates.
  private func label(_ sums: [Float], _ weight: Double, _ source: Source, _ added: Int, _ addedSums: [Float]) -> Label {
    var squares = [Double]()
    var products = [Double]()
    var constant = 0.0
    for axis in 0..<width {
      let prior = Double(variances[axis])
      let shrinkage = prior / (weight * prior + 1)
      let precision = 1 / (1 + shrinkage)
      let mean = shrinkage * Double(sums[axis])
      squares.append(0.5 * (1 / (1 + prior) - precision))
      products.append(precision * mean)
      constant += 0.5 * (log(precision) + log1p(prior) - precision * mean * mean)
    }
    let bias = source == .rows ? 0 : addedBias * min(1, Self.biasExamples / weight)
    return Label(
      sums: sums, weight: weight, source: source, added: added, addedSums: addedSums, squares: squares, products: products,
      constant: constant, bias: bias)
  }

  private func sum(_ vectors: [[Float]]) throws -> [Double] {
    var sums = [Double](repeating: 0, count: width)
    for vector in vectors {
      let places = try project(vector)
      for axis in 0..<width { sums[axis] += places[axis] }
    }
    return sums
  }

  private func project(_ vector: [Float]) throws -> [Double] {
    guard vector.count == width else { throw Failure.wrongChange("a vector must be \(width) wide, got \(vector.count)") }
    try checkFinite(vector)
    var places = [Double](repeating: 0, count: width)
    for row in 0..<width {
      let difference = Double(vector[row]) - Double(center[row])
      for axis in 0..<width { places[axis] += difference * Double(axes[row * width + axis]) }
    }
    return places
  }

  private static func little<T: FixedWidthInteger>(_ value: T) -> [UInt8] {
    (0..<(T.bitWidth / 8)).map { UInt8(truncatingIfNeeded: value >> T(8 * $0)) }
  }

  private static func bytes(_ value: Int) -> [UInt8] { little(UInt32(bitPattern: Int32(value))) }

  private static func bytes(_ values: [Float]) -> [UInt8] { values.flatMap { little($0.bitPattern) } }

  /// Reads little-endian values one after the other.
  private struct Reader {
    private let bytes: [UInt8]
    private(set) var place = 0

    init(_ bytes: [UInt8], _ kind: String) throws {
      self.bytes = bytes
      guard try text(8) == kind else { throw Failure.damaged }
    }

    private mutating func take(_ size: Int) throws -> ArraySlice<UInt8> {
      guard size >= 0, size <= bytes.count - place else { throw Failure.damaged }
      place += size
      return bytes[(place - size)..<place]
    }

    private mutating func word(_ size: Int) throws -> UInt64 {
      try take(size).reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    mutating func integer() throws -> Int { Int(Int32(truncatingIfNeeded: try word(4))) }

    mutating func double() throws -> Double { Double(bitPattern: try word(8)) }

    mutating func text(_ size: Int) throws -> String { String(decoding: try take(size), as: UTF8.self) }

    mutating func floats(_ size: Int) throws -> [Float] {
      guard size >= 0, size <= (bytes.count - place) / 4 else { throw Failure.damaged }
      var values = [Float]()
      for _ in 0..<size { values.append(Float(bitPattern: UInt32(try word(4)))) }
      return values
    }

    mutating func halves(_ size: Int) throws -> [Float] {
      guard size >= 0, size <= (bytes.count - place) / 2 else { throw Failure.damaged }
      var values = [Float]()
      for _ in 0..<size { values.append(Self.fromHalf(Int(try word(2)))) }
      return values
    }

    func end() throws {
      if place != bytes.count { throw Failure.damaged }
    }

    /// A finite float16.
    private static func fromHalf(_ bits: Int) -> Float {
      let exponent = (bits >> 10) & 31
      let fraction = Double(bits & 1023)
      let size = exponent == 0 ? fraction * pow(2, -24) : (1 + fraction / 1024) * pow(2, Double(exponent - 15))
      return Float(bits & 0x8000 == 0 ? size : -size)
    }
  }
}
