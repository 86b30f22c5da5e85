// Opens a page from the disk, types, and tells what is seen.
//
//     node open_page.mjs PAGE < TYPED.json
//
// Typed is a list of {text, second, dark}, or of {example}, the number of an example to click; of each come {answer, marks,
// asked, texts}: the text that is shown, what is marked in it, the addresses that the page asked for, and what stands in the
// fields that are seen.

import { text as read } from "node:stream/consumers";
import { pathToFileURL } from "node:url";
import puppeteer from "puppeteer-core";

if (!process.env.CHROMIUM) throw new Error("CHROMIUM must name a Chromium; `make test-web` finds one");
const address = pathToFileURL(process.argv[2]).href;
// As root, as in containers, Chromium has no sandbox; it sees files of this project alone.
const browser = await puppeteer.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox", "--disable-gpu"] });
try {
  const found = [];
  for (const { text, second, dark, example } of JSON.parse(await read(process.stdin))) {
    const page = await browser.newPage();
    const [asked, errors] = [[], []];
    page.on("request", (request) => asked.push(request.url()));
    page.on("pageerror", (error) => errors.push(String(error)));
    page.on("console", (message) => errors.push(message.text()));
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: dark ? "dark" : "light" }]);
    await page.goto(address);
    await page.waitForFunction(() => document.getElementById("status").textContent.includes("MB"));
    const fill = (id, value) => {
      const field = document.getElementById(id);
      field.value = value;
      field.dispatchEvent(new Event("input"));
    };
    if (second !== undefined) await page.evaluate(fill, "second", second);
    if (example === undefined) await page.evaluate(fill, "text", text);
    else await (await page.$$("#examples button"))[example].click();
    await page.waitForFunction(() => document.getElementById("status").textContent.includes("ms"));
    found.push(await page.evaluate(() => ({
      answer: document.getElementById("answer").innerText,
      marks: [...document.querySelectorAll("mark")].map((mark) => mark.innerText),
      texts: [...document.querySelectorAll("textarea")].filter((field) => field.checkVisibility()).map(({ value }) => value),
      background: getComputedStyle(document.body).colorScheme,
    })));
    Object.assign(found.at(-1), { asked: asked.filter((each) => each !== address && !each.startsWith("data:")), errors });
    await page.close();
  }
  process.stdout.write(JSON.stringify(found));
} finally {
  await browser.close();
}
