// Asks a file in MediaPipe Tasks for the web.
//
//     node ask_mediapipe.mjs classifier|embedder FILE < TEXTS.json
//
// Texts are a JSON list; the answers are one, too: {label: score} or a vector for each text.

import { text } from "node:stream/consumers";
import { inBrowser } from "./browser.mjs";

async function ask(kind, texts) {
  const { FilesetResolver, TextClassifier, TextEmbedder } = await import("@mediapipe/tasks-text");
  const fileset = await FilesetResolver.forTextTasks("/packages/@mediapipe/tasks-text/wasm");
  const options = { baseOptions: { modelAssetPath: "/model" } };
  if (kind === "classifier") {
    const classifier = await TextClassifier.createFromOptions(fileset, options);
    const found = texts.map((each) => classifier.classify(each).classifications[0].categories);
    return found.map((each) => Object.fromEntries(each.map(({ categoryName, score }) => [categoryName, score])));
  }
  const embedder = await TextEmbedder.createFromOptions(fileset, options);
  return texts.map((each) => [...embedder.embed(each).embeddings[0].floatEmbedding]);
}

const [kind, file] = process.argv.slice(2);
process.stdout.write(JSON.stringify(await inBrowser(file, ask, kind, JSON.parse(await text(process.stdin)))));
