// Searches in a page from the disk, as a person types, and tells what is seen.
//
//     node search_page.mjs PAGE < GIVEN.json
//
// Given is {queries, keys, dark}; each query is typed anew, and of each come {results, milliseconds}: text and similarity
// of each result, and the time that the page says. Then the keys are pressed; of each comes the text that has the focus.

import { text as read } from "node:stream/consumers";
import { pathToFileURL } from "node:url";
import puppeteer from "puppeteer-core";

if (!process.env.CHROMIUM) throw new Error("CHROMIUM must name a Chromium; `make test-web` finds one");
const { queries, keys = [], dark = false } = JSON.parse(await read(process.stdin));
// As root, as in containers, Chromium has no sandbox; it sees files of this project alone.
const browser = await puppeteer.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox", "--disable-gpu"] });
try {
  const page = await browser.newPage();
  const [asked, errors] = [[], []];
  page.on("request", (request) => asked.push(request.url()));
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("console", (message) => errors.push(message.text()));
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: dark ? "dark" : "light" }]);
  await page.goto(pathToFileURL(process.argv[2]).href);
  await page.waitForFunction(() => document.getElementById("status").textContent.includes("MB"));
  const found = [];
  for (const query of queries) {
    found.push(await page.evaluate(async (typed) => {
      const [field, status] = ["text", "status"].map((id) => document.getElementById(id));
      status.textContent = "";
      field.value = typed;
      field.dispatchEvent(new Event("input"));
      while (!status.textContent.includes("ms")) await new Promise((resolve) => setTimeout(resolve, 5));
      const results = [...document.querySelectorAll(".result")].map((result) => {
        const [similarity, text] = [...result.children].map((child) => child.textContent);
        return { similarity: Number(similarity), text };
      });
      return { results, milliseconds: parseFloat(status.textContent) };
    }, query));
  }
  const steps = [];
  await page.focus("#text");
  for (const key of keys) {
    await page.keyboard.press(key);
    steps.push(await page.evaluate(() => {
      const { value, children, ariaExpanded } = document.activeElement;
      return { text: children[1]?.textContent ?? value, expanded: ariaExpanded };
    }));
  }
  const colors = await page.evaluate(() => [document.body, document.querySelector(".result")]
    .map((element) => element && getComputedStyle(element).color));
  const labels = await page.evaluate(() => [...document.querySelectorAll("label")].filter((label) => !label.hidden)
    .map((label) => label.firstChild.textContent));
  process.stdout.write(JSON.stringify({ found, steps, colors, labels, errors, asked: asked.slice(1).filter((each) => !each.startsWith("data:")) }));
} finally {
  await browser.close();
}
