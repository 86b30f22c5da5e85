/// A static model without an interpreter: the vector of a text is the mean of the rows of its tokens, each times its factor;
/// then a dense layer if there is one, and length 1 if the model is normalized. Special tokens never count.
///
/// To copy into an app, with `static_model.bin`, whose content `bytes` is. A tokenizer of this project makes the ids.
public struct StaticModel {
  public enum Failure: Error {
    case noStaticModel, noRow(Int)
    /// Vectors of this space: embed the texts again with this model, or train it into their space.
    case otherSpace(String)
  }

  /// The identifier of the space: vectors of another one cannot be compared with those of this model.
  public let space: String
  public let width: Int
  private let columns: Int
  private let zero: Int
  private let isNormalized: Bool
  private let ignored: Set<Int>
  private let factors: [Float]
  private let projection: [Float]
  private let table: [Int8]

  /// - Throws: `noStaticModel` if the bytes are not those of a whole `static_model.bin`.
  public init(bytes: [UInt8]) throws {
    guard bytes.count > 52, String(decoding: bytes[0..<8], as: UTF8.self) == "STATICV1" else { throw Failure.noStaticModel }
    func word(_ place: Int) -> UInt32 {
      (0..<4).reduce(0) { $0 | UInt32(bytes[place + $1]) << UInt32(8 * $1) }
    }
    func integers(_ start: Int, _ count: Int) -> [Int] {
      (0..<count).map { Int(Int32(bitPattern: word(start + 4 * $0))) }
    }
    func floats(_ start: Int, _ count: Int) -> [Float] {
      (0..<count).map { Float(bitPattern: word(start + 4 * $0)) }
    }
    let sizes = integers(8, 7)
    let (tokens, columns, width) = (sizes[0], sizes[1], sizes[2])
    let ofProjection = sizes[4] == 1 ? columns * width : 0
    guard bytes.count == 52 + 4 * (sizes[6] + tokens + ofProjection) + tokens * columns else { throw Failure.noStaticModel }
    space = String(decoding: bytes[36..<52], as: UTF8.self)
    ignored = Set(integers(52, sizes[6]))
    let start = 52 + 4 * sizes[6]
    factors = floats(start, tokens)
    projection = floats(start + 4 * tokens, ofProjection)
    table = bytes[(start + 4 * (tokens + ofProjection))...].map { Int8(bitPattern: $0) }
    self.columns = columns
    self.width = width
    zero = sizes[3]
    isNormalized = sizes[5] == 1
  }

  /// Checks the space of an index or a table of vectors by the identifier beside them; an empty one is unknown and passes.
  /// - Throws: `otherSpace` if it is another space than that of this model.
  public func requireSpace(_ other: String) throws {
    let isUnknown = other.isEmpty || space.allSatisfy { $0 == " " }
    if !isUnknown && other != space { throw Failure.otherSpace(other) }
  }

  /// The vector of a text by the ids of its tokens.
  /// - Throws: `noRow` for an id of no row.
  public func embed(_ ids: [Int]) throws -> [Float] {
    if let other = ids.first(where: { !factors.indices.contains($0) }) { throw Failure.noRow(other) }
    let counted = ids.filter { !ignored.contains($0) }
    // A text without tokens has a direction, too.
    var mean = [Float](repeating: counted.isEmpty ? 1 : 0, count: columns)
    for id in counted {
      for column in 0..<columns { mean[column] += factors[id] * Float(Int(table[id * columns + column]) - zero) }
    }
    for column in 0..<columns { mean[column] /= Float(max(1, counted.count)) }
    var vector = mean
    if !projection.isEmpty {
      vector = (0..<width).map { place in
        (0..<columns).reduce(Float(0)) { $0 + mean[$1] * projection[$1 * width + place] }
      }
    }
    if isNormalized {
      let length = max(vector.reduce(Float(0)) { $0 + $1 * $1 }, 1e-12).squareRoot()
      vector = vector.map { $0 / length }
    }
    return vector
  }
}
