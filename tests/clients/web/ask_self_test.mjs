// Runs the self-test of a pushed folder, with planted faults.
//
//     node ask_self_test.mjs FOLDER FILE < FAULTS.json
//
// Of each fault, a name of `FAULTS`, comes what the self-test says.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { text as read } from "node:stream/consumers";
import { findFault } from "../../../keras_bert/clients/self_test.js";
import { openStudent } from "./student.mjs";

const [folder, name] = process.argv.slice(2);
const { model, tokenizer, settings } = openStudent(folder, name);
const test = JSON.parse(readFileSync(join(folder, "self_test.json"), "utf8"));
const bytes = new Uint8Array(readFileSync(join(folder, name)));
const swap = ([one, other, ...rest]) => [other, one, ...rest];
const run = (row) => model.run(row).values;
const changed = () => {
  const copy = bytes.slice();
  copy.fill(0, bytes.length / 2, bytes.length / 2 + 20000);
  return copy;
};
const careless = { tokenize: (text) => tokenizer.tokenize(text.replace(/\p{P}/gu, "")), encode: (...given) => tokenizer.encode(...given) };
const greedy = { tokenize: (text) => tokenizer.tokenize(text), encode: (parts, length) => tokenizer.encode([...parts].reverse(), length - 25) };
const FAULTS = {
  none: {},
  truncated: { bytes: bytes.subarray(0, bytes.length - 9) },
  version: { bytes: changed() },
  labels: { labels: swap(settings.labels ?? [""]) },
  pieces: { tokenizer: careless },
  rows: { tokenizer: greedy },
  processor: { run: (row) => run(row).map((value) => 0.8 * value) },
  nan: { run: (row) => run(row).map(() => NaN) },
  short: { run: () => [] },
};
const found = [];
for (const fault of JSON.parse(await read(process.stdin))) {
  const parts = { bytes, labels: settings.labels, tokenizer, maxLength: settings.max_length, run };
  found.push(await findFault(test, name, { ...parts, ...FAULTS[fault] }));
}
process.stdout.write(JSON.stringify(found));
