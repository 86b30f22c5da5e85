import Foundation

/// Splits texts into subwords and builds rows: `split VOCABULARY RULES LENGTH`, in the form of `check_subwords`.
let contents = try CommandLine.arguments[1...2].map { try String(contentsOfFile: $0, encoding: .utf8) }
let tokenizer = Subwords(pieces: contents[0].split(separator: "\n").map(String.init), rules: contents[1])
let length = Int(CommandLine.arguments[3])!
var before: [Piece] = []
while let line = readLine() {
  let scalars = line.split(separator: " ").map { Unicode.Scalar(UInt32($0)!)! }
  let pieces = tokenizer.tokenize(String(String.UnicodeScalarView(scalars)))
  let alone = tokenizer.encode([pieces], length: length)
  let paired = tokenizer.encode([pieces, before], length: length)
  let tokens = pieces.map { "\($0.id):\($0.start):\($0.end):\($0.begins ? 1 : 0)" }.joined(separator: " ")
  let rows = [alone.tokenIds, paired.tokenIds, paired.segmentIds].map { $0.map(String.init).joined(separator: " ") }
  print(([tokens] + rows).joined(separator: "\t"))
  before = pieces
}
