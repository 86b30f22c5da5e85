import SwiftUI

/// A field to type in, the labels of the text below it, and whether the model answers as `golden.json` says.
@main
struct ClassifierApp: App {
  private let classifier: Classifier
  private let golden: String
  @State private var text = ""
  @State private var answers: [Answer] = []

  init() {
    let folder = Bundle.main.resourceURL!.appendingPathComponent("model")
    do {
      classifier = try Classifier(folder: folder)
      golden = String(format: "golden.json: logits differ by at most %.4f", try classifier.checkGolden())
    } catch {
      fatalError("the folder of the pushed model must be in the app, got \(error)")
    }
  }

  var body: some Scene {
    WindowGroup {
      List {
        TextField("Text", text: $text, axis: .vertical)
          .onChange(of: text) { typed in answers = (try? classifier.classify(typed)) ?? [] }
        ForEach(answers, id: \.label) { answer in
          Text(String(format: "%.3f  %@", answer.probability, answer.label))
        }
        if answers.first?.isSure == false { Text("not sure") }
        Text(golden)
      }
    }
  }
}
