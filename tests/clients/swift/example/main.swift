import Foundation

/// Asks the example about all rows of `golden.json`: `replay FOLDER`; the model is that file, see `TensorFlowLite.swift`.
struct Texts: Decodable {
  let text: String
  let second: String?
}

let folder = URL(fileURLWithPath: CommandLine.arguments[1])
let classifier = try Classifier(folder: folder)
print(try classifier.checkGolden())
for row in try JSONDecoder().decode([Texts].self, from: Data(contentsOf: folder.appendingPathComponent("golden.json"))) {
  let answers = try row.second.map { try classifier.classify(row.text, $0) } ?? classifier.classify(row.text)
  print("\(answers[0].label)\t\(answers[0].probability)\t\(answers[0].isSure)")
}
