// Asks an embedding by WebGPU: the folder transformers_js/ in transformers.js, or an .onnx file in ONNX Runtime for the web.
//
//     node ask_webgpu.mjs FOLDER DTYPE < TEXTS.json
//     node ask_webgpu.mjs FILE < INPUTS.json
//
// Inputs are {name: rows of int32}; the answers are vectors.

import { text } from "node:stream/consumers";
import { inBrowser } from "./browser.mjs";

async function askPipeline(texts, dtype) {
  const { env, pipeline } = await import("@huggingface/transformers");
  Object.assign(env, { allowLocalModels: true, allowRemoteModels: false, localModelPath: "/", useBrowserCache: false });
  env.backends.onnx.wasm.wasmPaths = "/packages/@huggingface/transformers/node_modules/onnxruntime-web/dist/";
  const embed = await pipeline("feature-extraction", "model", { dtype, device: "webgpu" });
  return (await embed(texts, { pooling: "mean", normalize: true })).tolist();
}

async function askSession(inputs) {
  const ort = await import("onnxruntime-web/webgpu");
  ort.env.wasm.wasmPaths = "/packages/onnxruntime-web/dist/";
  const session = await ort.InferenceSession.create("/model", { executionProviders: ["webgpu"] });
  const feeds = Object.entries(inputs).map(([name, rows]) => {
    return [name, new ort.Tensor("int32", Int32Array.from(rows.flat()), [rows.length, rows[0].length])];
  });
  const [{ data, dims }] = Object.values(await session.run(Object.fromEntries(feeds)));
  return Array.from({ length: dims[0] }, (_, row) => [...data.slice(row * dims[1], (row + 1) * dims[1])]);
}

const [model, dtype] = process.argv.slice(2);
const ask = dtype === undefined ? askSession : askPipeline;
process.stdout.write(JSON.stringify(await inBrowser(model, ask, JSON.parse(await text(process.stdin)), dtype)));
