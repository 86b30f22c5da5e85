import Foundation
import TensorFlowLite

/// A label with its calibrated probability, and whether that reaches the threshold of the model.
struct Answer: Equatable {
  let label: String
  let probability: Double
  let isSure: Bool
}

enum GoldenError: Error {
  case otherTokenIds(of: String)
}

/// A classifier of a pushed folder: from a text, or a pair of texts, to the probabilities of the labels.
final class Classifier {
  private struct Task: Decodable {
    let labels: [String]
    let max_length: Int
  }

  private struct Record: Decodable {
    let lengths: [Int]
  }

  private struct Metrics: Decodable {
    struct Calibration: Decodable {
      let temperature: Double?
      let threshold: Double?
    }

    let calibration: Calibration?
  }

  private struct Golden: Decodable {
    let text: String
    let second: String?
    let token_ids: [Int]
    let outputs: [String: [Float]]
  }

  // Without a quantization it is model_float32.tflite.
  private static let file = "model.tflite"

  private let folder: URL
  private let task: Task
  // The lengths of the signatures, the shortest first.
  private let lengths: [Int]
  // Chosen on validation rows. Without a calibration logits stay as they are, and the model is sure of each answer.
  private let temperature: Double
  private let threshold: Double
  private let tokenizer: WordPiece
  private let interpreter: Interpreter

  init(folder: URL) throws {
    self.folder = folder
    task = try Self.decode(Task.self, of: folder.appendingPathComponent("task.json"))
    let records = try Self.decode([String: Record].self, of: folder.appendingPathComponent("export.json"))
    lengths = records[Self.file]!.lengths
    let metrics = try Self.decode(Metrics.self, of: folder.appendingPathComponent("metrics.json"))
    temperature = metrics.calibration?.temperature ?? 1
    threshold = metrics.calibration?.threshold ?? 0
    let (vocabulary, characters) = (try Self.text(of: folder, "vocab.txt"), try Self.text(of: folder, "characters.txt"))
    // A model with byte-level BPE or unigram has Subwords.swift, which reads subwords.txt.
    tokenizer = WordPiece(pieces: vocabulary.split(separator: "\n").map(String.init), characters: characters)
    interpreter = try Interpreter(modelPath: folder.appendingPathComponent(Self.file).path)
  }

  /// The labels of a text, or of a pair, the most probable first, with the probabilities of `predict`.
  func classify(_ texts: String...) throws -> [Answer] {
    let logits = try run(encode(texts))
    let powers = logits.map { exp(Double($0 - logits.max()!) / temperature) }
    let probabilities = powers.map { $0 / powers.reduce(0, +) }
    return zip(task.labels, probabilities).map { Answer(label: $0, probability: $1, isSure: $1 >= threshold) }
      .sorted { $0.probability > $1.probability }
  }

  /// Compares ids and logits with the rows of `golden.json`; returns the largest difference of a logit.
  func checkGolden() throws -> Float {
    let rows = try Self.decode([Golden].self, of: folder.appendingPathComponent("golden.json"))
    var largest: Float = 0
    for golden in rows {
      let row = encode([golden.text] + (golden.second.map { [$0] } ?? []))
      guard row.tokenIds == golden.token_ids else { throw GoldenError.otherTokenIds(of: golden.text) }
      for (logit, expected) in zip(try run(row), golden.outputs[Self.file]!) {
        largest = max(largest, abs(logit - expected))
      }
    }
    return largest
  }

  private func encode(_ texts: [String]) -> Row {
    tokenizer.encode(texts.map(tokenizer.tokenize), length: task.max_length)
  }

  /// Runs a row in the shortest signature that holds it.
  private func run(_ row: Row) throws -> [Float] {
    let length = lengths.first { row.tokenIds.count <= $0 }!
    let mask = row.tokenIds.map { _ in 1 }
    let inputs = ["token_ids": row.tokenIds, "segment_ids": row.segmentIds, "padding_mask": mask]
    let runner = try interpreter.signatureRunner(with: "serve_\(length)")
    // A model that does not tell texts of a pair apart has no segment_ids.
    let padded = runner.inputs.map { name in
      (name, (inputs[name]! + Array(repeating: 0, count: length - row.tokenIds.count)).map(Int32.init))
    }
    try runner.invoke(with: Dictionary(uniqueKeysWithValues: padded.map { name, values in
      (name, values.withUnsafeBufferPointer { Data(buffer: $0) })
    }))
    return try runner.output(named: "logits").data.withUnsafeBytes { Array($0.bindMemory(to: Float.self)) }
  }

  private static func decode<Content: Decodable>(_ type: Content.Type, of file: URL) throws -> Content {
    try JSONDecoder().decode(type, from: Data(contentsOf: file))
  }

  private static func text(of folder: URL, _ name: String) throws -> String {
    try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)
  }
}
