import Foundation

/// Runs the self-test of a pushed folder with planted faults, and prints a line for each: `faults FOLDER FILE [TASK]`. The
/// model is `golden.json`, of whose rows alone the outputs are known.
struct Task: Decodable {
  let labels: [String]
  let max_length: Int
}

struct Several: Decodable {
  let tasks: [String: Task]?
}

struct Golden: Decodable {
  let text: String
  let second: String?
  let outputs: [String: [Float]]
}

let folder = URL(fileURLWithPath: CommandLine.arguments[1])
let name = CommandLine.arguments[2]
let part = CommandLine.arguments.count > 3 ? CommandLine.arguments[3] : ""
func read(_ file: String) throws -> Data { try Data(contentsOf: folder.appendingPathComponent(file)) }
func text(_ file: String) throws -> String { String(decoding: try read(file), as: UTF8.self) }

let pieces = try text("vocab.txt").split(separator: "\n").map(String.init)
let tokenizer = WordPiece(pieces: pieces, characters: try text("characters.txt"))
let tasks = try JSONDecoder().decode(Several.self, from: read("task.json")).tasks
let task = try tasks?[part] ?? JSONDecoder().decode(Task.self, from: read("task.json"))
// Rows of other tasks may have outputs of another shape.
let objects = try JSONSerialization.jsonObject(with: read("golden.json")) as! [[String: Any]]
let rows = objects.filter { ($0["task"] as? String ?? "") == part }
let golden = try JSONDecoder().decode([Golden].self, from: JSONSerialization.data(withJSONObject: rows))
let bytes = try read(name)
var changed = bytes
changed.resetBytes(in: bytes.count / 2..<min(bytes.count, bytes.count / 2 + 20000))
let test = try SelfTest(test: read("self_test.json"), name: name, task: part)

func cut(_ text: String) -> [Int] { tokenizer.tokenize(text).map(\.id) }
func encode(_ texts: [String], _ length: Int) -> [Int] {
  tokenizer.encode(texts.map(tokenizer.tokenize), length: length).tokenIds
}
func output(_ texts: [String]) -> [Float] {
  golden.first { [$0.text] + ($0.second.map { [$0] } ?? []) == texts }!.outputs[name]!
}
func say(
  file: Data = bytes, labels: [String] = task.labels, tokenize: (String) -> [Int] = cut,
  encode: ([String]) -> [Int] = { encode($0, task.max_length) }, run: ([String]) -> [Float] = output
) {
  print(test.findFault(model: file, labels: labels, tokenize: tokenize, encode: encode, run: run) ?? "null")
}

say()
say(file: bytes.dropLast(9))
say(file: changed)
say(labels: task.labels.reversed())
say(tokenize: { text in cut(text.filter { !$0.isPunctuation }) })
say(encode: { encode($0, 7) })
say(run: { texts in output(texts).map { 0.8 * $0 } })
say(run: { texts in output(texts).map { _ in .nan } })
say(run: { _ in [] })
