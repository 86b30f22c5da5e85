// What a page in a headless Chromium gives back, with the packages and one model served on loopback, and nothing else.
// WebGPU runs by SwiftShader, an adapter in software, which has no float16.

import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import puppeteer from "puppeteer-core";

const PACKAGES = fileURLToPath(new URL("../node_modules", import.meta.url));
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".mjs": "text/javascript", ".wasm": "application/wasm" };
const PAGE = `<!doctype html><script type="importmap">${JSON.stringify({
  imports: {
    "@huggingface/transformers": "/packages/@huggingface/transformers/dist/transformers.web.js",
    "@litertjs/core": "/packages/@litertjs/core/dist/index.js",
    "@litertjs/wasm-utils": "/packages/@litertjs/wasm-utils/dist/index.js",
    "@mediapipe/tasks-text": "/packages/@mediapipe/tasks-text/text_bundle.mjs",
    "onnxruntime-common": "/packages/onnxruntime-common/dist/esm/index.js",
    "onnxruntime-web/webgpu": "/packages/onnxruntime-web/dist/ort.webgpu.bundle.min.mjs",
  },
  // transformers.js brings a version of its own.
  scopes: {
    "/packages/@huggingface/": {
      "onnxruntime-common": "/packages/@huggingface/transformers/node_modules/onnxruntime-common/dist/esm/index.js",
      "onnxruntime-web/webgpu":
        "/packages/@huggingface/transformers/node_modules/onnxruntime-web/dist/ort.webgpu.bundle.min.mjs",
    },
  },
})}</script>`;

/**
 * Runs a function in a page and returns what it returns.
 *
 * @param {string} model the file or folder that the page finds as /model
 * @param {Function} run the function, by itself: it sees nothing of the file that it stands in
 * @param {...any} given its arguments, as JSON
 */
export async function inBrowser(model, run, ...given) {
  if (!process.env.CHROMIUM) throw new Error("CHROMIUM must name a Chromium; `make test-web` finds one");
  const server = createServer(async (request, response) => {
    const path = new URL(request.url, "http://localhost").pathname;
    const [, root, ...rest] = normalize(path).split("/");
    const file = join(root === "model" ? model : PACKAGES, ...rest);
    try {
      const content = path === "/" ? PAGE : await readFile(file);
      response.setHeader("content-type", TYPES[path === "/" ? ".html" : extname(path)] ?? "application/octet-stream");
      response.end(content);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  // Where no browser starts nothing waits for it.
  server.unref();
  const browser = await puppeteer.launch({
    executablePath: process.env.CHROMIUM,
    // As root, as in containers, Chromium has no sandbox; it sees files of this project and of its locks alone.
    args: ["--no-sandbox", "--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader", "--enable-features=Vulkan"],
    // Whoever waits longer waits for nothing; the browser ends with this.
    protocolTimeout: 120_000,
  });
  try {
    const page = await browser.newPage();
    page.on("pageerror", (error) => console.error(String(error)));
    await page.goto(`http://127.0.0.1:${server.address().port}/`);
    return await page.evaluate(run, ...given);
  } finally {
    await browser.close();
  }
}
