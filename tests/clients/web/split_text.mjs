// Splits texts into subwords and builds rows, in the form of `check_subwords` in `subword_fuzz.py`.
//
//     node split_text.mjs VOCABULARY RULES LENGTH < TEXTS

import { readFileSync } from "node:fs";
import { text as read } from "node:stream/consumers";
import { Subwords } from "../../../keras_bert/clients/subwords.js";
import { countCharacters } from "./places.mjs";

const [vocabulary, rules] = process.argv.slice(2, 4).map((path) => readFileSync(path, "utf8"));
const tokenizer = new Subwords(vocabulary.replace(/\n$/, "").split("\n"), rules);
const length = Number(process.argv[4]);
const lines = [];
let before = [];
for (const line of (await read(process.stdin)).split("\n").slice(0, -1)) {
  const text = line && String.fromCodePoint(...line.split(" ").map(Number));
  const places = countCharacters(text);
  const pieces = tokenizer.tokenize(text);
  const tokens = pieces.map(({ id, start, end, begins }) => [id, places.get(start), places.get(end), Number(begins)].join(":"));
  const [alone, paired] = [tokenizer.encode([pieces], length), tokenizer.encode([pieces, before], length)];
  lines.push([tokens, alone.token_ids, paired.token_ids, paired.segment_ids].map((part) => part.join(" ")).join("\t"));
  before = pieces;
}
process.stdout.write(lines.map((line) => `${line}\n`).join(""));
