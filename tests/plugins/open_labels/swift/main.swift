// Applies the operations of stdin to a table and prints its answers: `main label_table.bin`.
import Foundation

var table = try LabelTable(bytes: [UInt8](FileManager.default.contents(atPath: CommandLine.arguments[1])!))
let width = Int(ProcessInfo.processInfo.environment["WIDTH"]!)!

func vectors(_ bytes: [UInt8]) -> [[Float]] {
  let numbers = stride(from: 0, to: bytes.count, by: 4).map { place in
    Float(bitPattern: (0..<4).reduce(UInt32(0)) { $0 | UInt32(bytes[place + $1]) << UInt32(8 * $1) })
  }
  return stride(from: 0, to: numbers.count, by: width).map { Array(numbers[$0..<($0 + width)]) }
}

while let line = readLine() {
  let fields = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
  let bytes = [UInt8](Data(base64Encoded: fields[3])!)
  do {
    switch fields[0] {
    case "merge": try table.merge(bytes)
    case "add": try table.add(fields[1], vectors(bytes))
    case "name": try table.add(fields[1], [], nameVector: vectors(bytes)[0])
    case "examples": try table.addExamples(fields[1], vectors(bytes))
    case "rename": try table.rename(fields[1], fields[2])
    case "remove": try table.remove(fields[1])
    case "undo": try table.undo()
    default:
      let answer = try table.answer(vectors(bytes)[0])
      print("\(answer.label ?? "")\t\(answer.probability)\t\(answer.score)")
    }
  } catch {
    print("refused: \(error)")
  }
}
print(Data(table.exportAdded()).base64EncodedString())
print(Data(table.toBytes()).base64EncodedString())
