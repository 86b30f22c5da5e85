// Prints the vector of each line of ids: `main static_model.bin`.
import Foundation

let model = try StaticModel(bytes: [UInt8](FileManager.default.contents(atPath: CommandLine.arguments[1])!))
print(model.space)
for space in ["", model.space, "0123456789abcdef"] {
  do {
    try model.requireSpace(space)
    print("ok")
  } catch {
    print(error)
  }
}
while let line = readLine() {
  print(try model.embed(line.split(separator: " ").map { Int($0)! }).map { String($0) }.joined(separator: " "))
}
