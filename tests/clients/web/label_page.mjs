// Uses the page of a model of labels as data as a person does.
//
//     node label_page.mjs PAGE [PICTURE] < STEPS.json
//
// Steps are {text, label, click}: what is typed in the two fields, and the button that is clicked, or "Enter". Of each come
// {answer, message, failed, saved, errors}: what is shown, and the size of the file that was saved.

import { text as read } from "node:stream/consumers";
import { pathToFileURL } from "node:url";
import puppeteer from "puppeteer-core";

if (!process.env.CHROMIUM) throw new Error("CHROMIUM must name a Chromium; `make test-web` finds one");
// As root, as in containers, Chromium has no sandbox; it sees files of this project alone.
const browser = await puppeteer.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox", "--disable-gpu"] });
try {
  const page = await browser.newPage();
  const errors = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("console", (message) => errors.push(message.text()));
  await page.evaluateOnNewDocument(() => {
    window.saved = [];
    const make = URL.createObjectURL;
    URL.createObjectURL = (blob) => { window.saved.push(blob.size); return make(blob); };
  });
  await page.goto(pathToFileURL(process.argv[2]).href);
  await page.waitForFunction(() => document.getElementById("status").textContent.includes("MB"));
  const seen = [];
  for (const { text = "", label = "", click } of JSON.parse(await read(process.stdin))) {
    await page.evaluate((fields) => {
      for (const [id, value] of Object.entries(fields)) document.getElementById(id).value = value;
      document.getElementById("text").dispatchEvent(new Event("input"));
    }, { text, label });
    await new Promise((resolve) => setTimeout(resolve, 300));
    if (click === "Enter") await page.focus("#label").then(() => page.keyboard.press("Enter"));
    else if (click) await page.evaluate((name) => [...document.querySelectorAll("button")].find((one) => one.innerText === name).click(), click);
    seen.push(await page.evaluate(() => ({
      answer: document.getElementById("answer").innerText,
      message: document.getElementById("labels").textContent,
      failed: document.getElementById("labels").className === "failed",
      saved: window.saved,
    })));
  }
  if (process.argv[3]) await page.screenshot({ path: process.argv[3], fullPage: true });
  process.stdout.write(JSON.stringify({ seen, errors }));
} finally {
  await browser.close();
}
