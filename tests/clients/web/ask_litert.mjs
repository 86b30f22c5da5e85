// Asks a .tflite file in LiteRT.js, on the processor.
//
//     node ask_litert.mjs FILE < INPUTS.json
//
// Inputs are {signature, rows}, where a row is {name: [int32, ...]}; the answers are {name: [float, ...]} for each row.

import { text } from "node:stream/consumers";
import { inBrowser } from "./browser.mjs";

async function ask({ signature, rows }) {
  const { loadAndCompile, loadLiteRt, Tensor } = await import("@litertjs/core");
  await loadLiteRt("/packages/@litertjs/core/wasm/");
  const model = await loadAndCompile("/model", { accelerator: "wasm" });
  const answers = [];
  for (const row of rows) {
    const given = Object.entries(row).map(([name, ids]) => [name, new Tensor(Int32Array.from(ids), [1, ids.length])]);
    const outputs = await model.run(signature, Object.fromEntries(given));
    const read = Object.entries(outputs).map(async ([name, tensor]) => [name, [...(await tensor.data())]]);
    answers.push(Object.fromEntries(await Promise.all(read)));
  }
  return answers;
}

const answers = await inBrowser(process.argv[2], ask, JSON.parse(await text(process.stdin)));
process.stdout.write(JSON.stringify(answers));
