// Opens a notebook's page with a frame, as `Page._repr_html_` gives it, and looks into the frame.
//
//     node open_frame.mjs PAGE < [{}]
//
// Gives [{title, lines, errors}]: the frame's heading, and whether its attention is drawn.

import { pathToFileURL } from "node:url";
import puppeteer from "puppeteer-core";

if (!process.env.CHROMIUM) throw new Error("CHROMIUM must name a Chromium; `make test-web` finds one");
const browser = await puppeteer.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox", "--disable-gpu"] });
try {
  const [page, errors] = [await browser.newPage(), []];
  page.on("pageerror", (error) => errors.push(String(error)));
  await page.goto(pathToFileURL(process.argv[2]).href);
  const frame = await (await page.waitForSelector("iframe")).contentFrame();
  await frame.waitForSelector(".heads-view line");
  const title = await frame.$eval("h1", (heading) => heading.textContent);
  process.stdout.write(JSON.stringify([{ title, lines: true, errors }]));
} finally {
  await browser.close();
}
