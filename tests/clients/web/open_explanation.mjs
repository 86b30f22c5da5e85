// Opens a page of `plugins.explain.html_page` and uses it as a person does.
//
//     node open_explanation.mjs PAGE [FOLDER] < SCREENS.json
//
// Screens are {width, dark}; of each come {milliseconds, inflated, width, background, words, tips, lines, hovered, focused,
// alone, layer, opened, drawn, saved, asked, errors}. With a FOLDER each screen's picture is written there.

import { text as read } from "node:stream/consumers";
import { pathToFileURL } from "node:url";
import puppeteer from "puppeteer-core";

if (!process.env.CHROMIUM) throw new Error("CHROMIUM must name a Chromium; `make test-web` finds one");
const address = pathToFileURL(process.argv[2]).href;
// As root, as in containers, Chromium has no sandbox; it sees files of this project alone.
const browser = await puppeteer.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox", "--disable-gpu"] });
const settle = () => new Promise((resolve) => setTimeout(resolve, 150));
try {
  const screens = [];
  for (const { width, dark } of JSON.parse(await read(process.stdin))) {
    const page = await browser.newPage();
    const [asked, errors, saved] = [[], [], []];
    page.on("request", (request) => asked.push(request.url()));
    page.on("pageerror", (error) => errors.push(String(error)));
    page.on("console", (message) => errors.push(message.text()));
    await page.evaluateOnNewDocument(() => {
      window.inflated = 0;
      const Stream = window.DecompressionStream;
      window.DecompressionStream = class extends Stream { constructor(format) { super(format); window.inflated += 1; } };
    });
    await page.setViewport({ width, height: 900 });
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: dark ? "dark" : "light" }]);
    const start = performance.now();
    await page.goto(address);
    await page.waitForFunction(() => !document.querySelector(".heads-view") || document.querySelector(".heads-view line"));
    const milliseconds = performance.now() - start;
    const count = (selector) => page.$$eval(selector, (elements) => elements.length);
    const result = { milliseconds, inflated: await page.evaluate(() => window.inflated), lines: await count(".heads-view line") };
    Object.assign(result, await page.evaluate(() => ({
      width: document.documentElement.scrollWidth,
      background: getComputedStyle(document.body).backgroundColor,
      words: [...document.querySelectorAll(".attribution .words span")].map((word) => word.innerText),
    })));
    if (process.argv[3]) await page.screenshot({ path: `${process.argv[3]}/${width}-${dark ? "dark" : "light"}.png`, fullPage: true });
    const tip = () => page.$eval("#tip", (box) => (box.hidden ? "" : box.textContent));
    result.tips = [];
    if (result.words.length) {
      await page.hover(".attribution .words span");
      result.tips.push(await tip());
      await page.$eval(".attribution .words span", (target) => target.focus());
      await page.keyboard.press("Tab");
      result.tips.push(await tip());
    }
    await page.mouse.move(0, 0);
    if (await count(".head-map .place")) {
      await page.$eval(".head-map .place", (target) => target.focus());
      result.tips.push(await tip());
    }
    if (result.lines) {
      await page.hover(".heads-view .place[tabindex]");
      await settle();
      result.hovered = await page.$$eval(".heads-view line", (lines) => new Set(lines.map((line) => line.getAttribute("y1"))).size);
      await page.mouse.move(0, 0);
      const focused = () => page.evaluate(() => document.activeElement.getAttribute("aria-label"));
      await page.$eval('.heads-view .place[tabindex="0"]', (target) => target.focus());
      result.focused = [await focused()];
      await page.keyboard.press("ArrowDown");
      result.focused.push(await focused());
      const second = await page.$(".heads button:nth-child(2)");
      await second.click({ clickCount: 2 });
      await settle();
      result.alone = await page.$$eval('.heads button[aria-pressed="true"]', (buttons) => buttons.map((button) => button.textContent));
      await second.focus();
      await page.keyboard.press("ArrowRight");
      await settle();
      result.layer = await page.$eval(".heads-view select", (select) => select.value);
      await page.click(".model button:last-child");
      await settle();
      result.opened = [
        await page.$eval(".heads-view select", (select) => select.value),
        await page.$eval('.heads button[aria-pressed="true"]', (button) => button.textContent),
      ];
      result.drawn = await page.$$eval(".model canvas", (canvases) => canvases.some((canvas) => canvas.getContext("2d")
        .getImageData(0, 0, canvas.width, canvas.height).data.some((value) => value > 0)));
    }
    // A link that is clicked by a script saves a file; here its content is kept instead.
    const buttons = await page.evaluate(() => {
      window.saved = [];
      HTMLAnchorElement.prototype.click = function () { window.saved.push(decodeURIComponent(this.href)); };
      const buttons = [...document.querySelectorAll(".bar button")].filter((button) => button.textContent === "Save as SVG");
      for (const button of buttons) button.click();
      return buttons.length;
    });
    await page.waitForFunction((number) => window.saved.length === number, {}, buttons);
    saved.push(...await page.evaluate(() => window.saved));
    await page.click("#light");
    result.switched = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    screens.push({ ...result, saved, asked: asked.filter((url) => url !== address && !url.startsWith("data:")), errors });
    await page.close();
  }
  process.stdout.write(JSON.stringify(screens));
} finally {
  await browser.close();
}
