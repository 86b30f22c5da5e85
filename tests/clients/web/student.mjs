// What the page asks, made of a folder on the disk.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Subwords } from "../../../keras_bert/clients/subwords.js";
import { TFLiteModel } from "../../../keras_bert/clients/tflite.js";
import { WordPiece } from "../../../keras_bert/clients/wordpiece.js";

/** The model of a file in a pushed folder, with its tokenizer and settings. */
export function openStudent(folder, file) {
  const lines = (name) => readFileSync(join(folder, name), "utf8");
  const pieces = lines("vocab.txt").replace(/\n$/, "").split("\n");
  const hasSubwords = existsSync(join(folder, "subwords.txt"));
  return {
    settings: JSON.parse(lines("task.json")),
    temperature: JSON.parse(lines("metrics.json")).calibration?.temperature ?? 1,
    model: new TFLiteModel(new Uint8Array(readFileSync(join(folder, file)))),
    tokenizer: hasSubwords ? new Subwords(pieces, lines("subwords.txt")) : new WordPiece(pieces, lines("characters.txt")),
  };
}
