// Opens a page from the disk in the light and in the dark, on a wide screen and on that of a phone, and tells what is seen.
//
//     node open_report.mjs PAGE < SCREENS.json
//
// Screens are {width, dark}; of each come {text, background, ink, width, asked, errors}: the text that is shown, the
// colours behind it and of text in pictures, how wide the page is, the addresses that it asked for, and what the console says.

import { text as read } from "node:stream/consumers";
import { pathToFileURL } from "node:url";
import puppeteer from "puppeteer-core";

if (!process.env.CHROMIUM) throw new Error("CHROMIUM must name a Chromium; `make test-web` finds one");
const address = pathToFileURL(process.argv[2]).href;
// As root, as in containers, Chromium has no sandbox; it sees files of this project alone.
const browser = await puppeteer.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox", "--disable-gpu"] });
try {
  const found = [];
  for (const { width, dark } of JSON.parse(await read(process.stdin))) {
    const page = await browser.newPage();
    const [asked, errors] = [[], []];
    page.on("request", (request) => asked.push(request.url()));
    page.on("pageerror", (error) => errors.push(String(error)));
    page.on("console", (message) => errors.push(message.text()));
    page.on("dialog", (dialog) => errors.push(dialog.message()) && dialog.dismiss());
    await page.setViewport({ width, height: 800 });
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: dark ? "dark" : "light" }]);
    await page.goto(address);
    const seen = await page.evaluate(() => ({
      text: document.body.innerText,
      background: getComputedStyle(document.body).backgroundColor,
      ink: getComputedStyle(document.querySelector(".plot text")).fill,
      width: document.documentElement.scrollWidth,
    }));
    found.push({ ...seen, asked: asked.filter((each) => each !== address && !each.startsWith("data:")), errors });
    await page.close();
  }
  process.stdout.write(JSON.stringify(found));
} finally {
  await browser.close();
}
