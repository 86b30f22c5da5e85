// Opens the example for the web, served on loopback with the packages of this folder, and types.
//
//     node open_example.mjs FOLDER < TEXTS.json
//
// Gives {golden, answers, errors}: what the page says of `golden.json`, and the labels of each text.

import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join, normalize } from "node:path";
import { text as read } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import puppeteer from "puppeteer-core";

if (!process.env.CHROMIUM) throw new Error("CHROMIUM must name a Chromium; `make test-web` finds one");
const PACKAGES = fileURLToPath(new URL("..", import.meta.url));
const TYPES = { html: "text/html", js: "text/javascript", wasm: "application/wasm" };
const server = createServer(async (request, response) => {
  const path = normalize(new URL(request.url, "http://localhost").pathname).replace(/\/$/, "/index.html");
  try {
    const content = await readFile(join(path.startsWith("/node_modules/") ? PACKAGES : process.argv[2], path));
    response.setHeader("content-type", TYPES[path.split(".").at(-1)] ?? "application/octet-stream");
    response.end(content);
  } catch {
    response.writeHead(404).end();
  }
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
server.unref();
// As root, as in containers, Chromium has no sandbox; it sees files of this project and of its locks alone.
const browser = await puppeteer.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox", "--disable-gpu"] });
try {
  const [page, errors] = [await browser.newPage(), []];
  page.on("pageerror", (error) => errors.push(String(error)));
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  await page.waitForFunction(() => !document.getElementById("golden").textContent.startsWith("opening"));
  const golden = await page.$eval("#golden", (element) => element.textContent);
  const answers = [];
  for (const text of JSON.parse(await read(process.stdin))) {
    answers.push(await page.evaluate(async (typed) => {
      const [field, shown] = ["text", "answers"].map((id) => document.getElementById(id));
      shown.textContent = "";
      field.value = typed;
      field.dispatchEvent(new Event("input"));
      while (!shown.textContent) await new Promise((resolve) => setTimeout(resolve, 5));
      return shown.textContent;
    }, text));
  }
  process.stdout.write(JSON.stringify({ golden, answers, errors }));
} finally {
  await browser.close();
}
