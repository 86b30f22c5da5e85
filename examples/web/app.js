/** A classifier of a pushed folder, `model/`: from a text, or a pair of texts, to the probabilities of the labels. */

import { loadAndCompile, loadLiteRt, Tensor } from "@litertjs/core";
// A model with byte-level BPE or unigram has Subwords in subwords.js, which reads subwords.txt instead of characters.txt.
import { WordPiece } from "./model/tokenizers/wordpiece.js";

const FILE = "model.tflite"; // without a quantization model_float32.tflite
const INPUTS = ["token_ids", "segment_ids", "padding_mask"];

const read = async (name) => (await fetch(`model/${name}`)).text();
const [vocabulary, characters] = await Promise.all(["vocab.txt", "characters.txt"].map(read));
const files = ["task.json", "export.json", "golden.json", "metrics.json"];
const [task, records, golden, metrics] = (await Promise.all(files.map(read))).map(JSON.parse);
// Chosen on validation rows. Without a calibration logits stay as they are, and the model is sure of each answer.
const [temperature, threshold] = [metrics.calibration?.temperature ?? 1, metrics.calibration?.threshold ?? 0];
const tokenizer = new WordPiece(vocabulary.replace(/\n$/, "").split("\n"), characters);
await loadLiteRt("node_modules/@litertjs/core/wasm/");
const model = await loadAndCompile(`model/${FILE}`, { accelerator: "wasm" });

const encode = (texts) => tokenizer.encode(texts.map((text) => tokenizer.tokenize(text)), task.max_length);

/** Runs a row in the shortest signature that holds it. */
async function run(row) {
  const length = records[FILE].lengths.find((tokens) => row.token_ids.length <= tokens);
  // A model that does not tell texts of a pair apart has no segment_ids.
  const names = INPUTS.filter((name) => name in golden[0]);
  const padded = names.map((name) => [name, Int32Array.from({ length }, (_, place) => row[name][place] ?? 0)]);
  const inputs = Object.fromEntries(padded.map(([name, values]) => [name, new Tensor(values, [1, length])]));
  const outputs = await model.run(`serve_${length}`, inputs);
  const logits = Array.from(await outputs.logits.data());
  [...Object.values(inputs), ...Object.values(outputs)].forEach((tensor) => tensor.delete());
  return logits;
}

/** The labels of a text, or of a pair, the most probable first, with calibrated probabilities, as `predict` gives them. */
export async function classify(...texts) {
  const logits = await run(encode(texts));
  const powers = logits.map((logit) => Math.exp((logit - Math.max(...logits)) / temperature));
  const total = powers.reduce((sum, power) => sum + power, 0);
  return powers.map((power) => power / total)
    .map((probability, place) => ({ label: task.labels[place], probability, isSure: probability >= threshold }))
    .sort((one, other) => other.probability - one.probability);
}

/** Compares ids and logits with the rows of `golden.json`; gives the largest difference of a logit. */
export async function checkGolden() {
  let largest = 0;
  for (const { text, second, token_ids: ids, outputs } of golden) {
    const row = encode(second === undefined ? [text] : [text, second]);
    if (String(row.token_ids) !== String(ids)) throw new Error(`other token ids for ${JSON.stringify([text, second])}`);
    const logits = await run(row);
    largest = Math.max(largest, ...logits.map((logit, place) => Math.abs(logit - outputs[FILE][place])));
  }
  return largest;
}

const [field, answers, check] = ["text", "answers", "golden"].map((id) => document.getElementById(id));
// One text after the other: the model has one set of buffers.
let turn = checkGolden().then((difference) => {
  check.textContent = `golden.json: logits differ by at most ${difference.toFixed(4)}`;
}).catch((error) => { check.textContent = error.message; });
field.addEventListener("input", () => {
  turn = turn.then(() => classify(field.value)).then((labels) => {
    const lines = labels.map(({ label, probability }) => `${probability.toFixed(3)}  ${label}`);
    answers.textContent = [...lines, ...(labels[0].isSure ? [] : ["not sure"])].join("\n");
  });
});
