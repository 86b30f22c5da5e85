import Foundation

/// The self-test of a pushed folder: says as an app starts whether the file, the labels, the tokenizer and the outputs are
/// right. To copy into an app, with `self_test.json`.
public struct SelfTest {
  public enum Failure: Error { case noFile(String), noTask(String) }

  private struct Several: Decodable {
    let tasks: [String: Content]?
  }

  private struct Content: Decodable {
    let files: [String: File]
    let labels: UInt32
    let rows: [Golden]
  }

  private struct File: Decodable {
    let bytes: Int
    let hash: UInt32
    let tolerance: Double
  }

  private struct Golden: Decodable {
    let text: String
    let second: String?
    let pieces: [Int]
    let token_ids: [Int]?
    let places: [Int]?
    let outputs: [String: [Double]]?
  }

  // Of a file, those that its hash is made of.
  private static let blocks = 64
  private static let block = 64

  private let name: String
  private let content: Content
  private let file: File

  /// - Parameters:
  ///   - test: the content of `self_test.json`.
  ///   - name: of the model file in the folder, such as "model.tflite".
  ///   - task: of a model of several tasks: the name of the one that an app runs.
  /// - Throws: `noFile` if the folder was pushed without this file, `noTask` without this task.
  public init(test: Data, name: String, task: String = "") throws {
    if let tasks = try JSONDecoder().decode(Several.self, from: test).tasks {
      guard let ofTask = tasks[task] else { throw Failure.noTask(task) }
      content = ofTask
    } else {
      content = try JSONDecoder().decode(Content.self, from: test)
    }
    guard let file = content.files[name] else { throw Failure.noFile(name) }
    self.file = file
    self.name = name
  }

  /// Which part of an app is wrong, as a sentence; nil if none is.
  ///
  /// - Parameters:
  ///   - model: the model file, such as one that is mapped into memory.
  ///   - labels: those that the app shows, in the order of the outputs; empty where there are none.
  ///   - tokenize: gives the ids of a text's pieces, without special tokens.
  ///   - encode: gives the ids of the model's input for a text or a pair.
  ///   - run: gives the numbers of the model's output for a text or a pair.
  public func findFault(
    model: Data, labels: [String], tokenize: (String) throws -> [Int], encode: ([String]) throws -> [Int],
    run: ([String]) throws -> [Float]
  ) rethrows -> String? {
    if model.count != file.bytes {
      return "\(name) must have \(file.bytes) bytes, got \(model.count): it is truncated, or of another version"
    }
    if Self.hashBlocks(model) != file.hash {
      return "\(name) must be the file of its self-test: it is damaged, or of another version"
    }
    if Self.hash(labels.joined(separator: "\n").utf8) != content.labels {
      return "the labels must be those of the training, in their order"
    }
    for row in content.rows {
      let pieces = try tokenize(row.text)
      let ids = try row.token_ids == nil ? nil : encode(Self.texts(of: row))
      if pieces != row.pieces || ids != row.token_ids {
        return "the tokenizer gives other tokens for \"\(row.text)\""
      }
    }
    var differences: [Double] = []
    for row in content.rows {
      guard let expected = row.outputs?[name], let places = row.places else { continue }
      let output = try run(Self.texts(of: row))
      let ofRow = zip(places, expected).map { output.indices.contains($0) ? abs($1 - Double(output[$0])) : .infinity }
      // A last bit may change one row, a wrong computation changes all; NaN is never within a tolerance.
      if ofRow.allSatisfy({ $0 <= file.tolerance }) { return nil }
      differences.append(ofRow.contains(where: \.isNaN) ? .nan : ofRow.max()!)
    }
    guard let least = differences.min() else { return nil }
    return "the outputs of \(name) differ from those of its self-test by at least \(least), more than \(file.tolerance): "
      + "this processor or its runtime computes otherwise"
  }

  private static func texts(of row: Golden) -> [String] {
    [row.text] + (row.second.map { [$0] } ?? [])
  }

  /// FNV-1a of 32 bits.
  private static func hash<Bytes: Sequence>(_ bytes: Bytes, start: UInt32 = 0x811C_9DC5) -> UInt32
  where Bytes.Element == UInt8 {
    bytes.reduce(start) { ($0 ^ UInt32($1)) &* 0x0100_0193 }
  }

  /// The hash of some blocks of a file, the first and the last among them.
  private static func hashBlocks(_ file: Data) -> UInt32 {
    let room = max(0, file.count - block)
    return (0..<blocks).reduce(hash(Data())) { value, number in
      hash(file.dropFirst(number * room / (blocks - 1)).prefix(block), start: value)
    }
  }
}
