import Foundation

/// Cuts texts and lays out rows: `cut VOCABULARY CHARACTERS LENGTH`, in the form of `check_program` in `fuzz.py`.
let contents = try CommandLine.arguments[1...2].map { try String(contentsOfFile: $0, encoding: .utf8) }
let tokenizer = WordPiece(pieces: contents[0].split(separator: "\n").map(String.init), characters: contents[1])
let length = Int(CommandLine.arguments[3])!
var before: [Piece] = []
while let line = readLine() {
  let scalars = line.split(separator: " ").map { Unicode.Scalar(UInt32($0)!)! }
  let pieces = tokenizer.tokenize(String(String.UnicodeScalarView(scalars)))
  let alone = tokenizer.encode([pieces], length: length)
  let paired = tokenizer.encode([pieces, before], length: length)
  let places = pieces.map { "\($0.id):\($0.start):\($0.end)" }.joined(separator: " ")
  let plain = tokenizer.plain(String(String.UnicodeScalarView(scalars))).unicodeScalars.map { Int($0.value) }
  let rows = [alone.tokenIds, paired.tokenIds, paired.segmentIds, plain].map { $0.map(String.init).joined(separator: " ") }
  print(([places] + rows).joined(separator: "\t"))
  before = pieces
}
