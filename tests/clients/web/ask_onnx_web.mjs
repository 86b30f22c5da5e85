// Asks an .onnx file in onnxruntime-web, compiled to WebAssembly.
//
//     node ask_onnx_web.mjs FILE < INPUTS.json
//
// Inputs are {name: {type, rows}}; the answers are {name: {dims, values}}.

import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import * as ort from "onnxruntime-web/wasm";

ort.env.wasm.numThreads = 1;
const ARRAYS = { int32: Int32Array, int64: BigInt64Array };
const session = await ort.InferenceSession.create(await readFile(process.argv[2]), { executionProviders: ["wasm"] });
const feeds = {};
for (const [name, { type, rows }] of Object.entries(JSON.parse(await text(process.stdin)))) {
  const values = rows.flat().map(type === "int64" ? BigInt : Number);
  feeds[name] = new ort.Tensor(type, ARRAYS[type].from(values), [rows.length, rows[0].length]);
}
const answers = Object.entries(await session.run(feeds)).map(([name, { dims, data }]) => [name, { dims, values: [...data] }]);
process.stdout.write(JSON.stringify(Object.fromEntries(answers)));
