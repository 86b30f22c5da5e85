// Runs the self-test of one task on golden rows, which are both tokenizer and model: right outputs, wrong outputs, other labels.
//
//     node ask_self_test.mjs SELF_TEST_JS FOLDER FILE TASK

import { readFileSync } from "node:fs";
import { join } from "node:path";

const [code, folder, name, task] = process.argv.slice(2);
const { findFault } = await import(code);
const read = (file) => JSON.parse(readFileSync(join(folder, file), "utf8"));
const golden = read("golden.json").filter((row) => row.task === task);
const textsOf = ({ text, second }) => (second === undefined ? [text] : [text, second]);
const rows = new Map(golden.map((row) => [JSON.stringify(textsOf(row)), row]));
const tokenizer = {
  tokenize: (text) => Object.assign((golden.find((row) => row.text === text)?.pieces ?? []).map((id) => ({ id })), { text }),
  encode: (parts) => rows.get(JSON.stringify(parts.map(({ text }) => text))) ?? { token_ids: [] },
};
const run = (row) => row.outputs[name].flat();
const labels = read("task.json").tasks[task]?.labels ?? [];
const parts = { bytes: new Uint8Array(readFileSync(join(folder, name))), labels, tokenizer, maxLength: 8, task, run };
const faults = [{}, { run: (row) => run(row).map((value) => 0.8 * value) }, { labels: ["other", ...labels] }];
const said = [];
for (const fault of faults) said.push(await findFault(read("self_test.json"), name, { ...parts, ...fault }));
console.log(JSON.stringify(said));
