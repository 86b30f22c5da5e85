// Asks the code of the page, without the page.
//
//     node ask_page.mjs FOLDER FILE < ROWS.json
//
// Rows are {text, second}; of each come {row, output, answer}.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { text as read } from "node:stream/consumers";
import * as answers from "../../../keras_bert/clients/answers.js";
import { Subwords } from "../../../keras_bert/clients/subwords.js";
import { TFLiteModel } from "../../../keras_bert/clients/tflite.js";
import { WordPiece } from "../../../keras_bert/clients/wordpiece.js";

const [, , folder, file] = process.argv;
const lines = (name) => readFileSync(join(folder, name), "utf8");
const pieces = lines("vocab.txt").replace(/\n$/, "").split("\n");
const hasSubwords = existsSync(join(folder, "subwords.txt"));
const student = {
  settings: JSON.parse(lines("task.json")),
  temperature: JSON.parse(lines("metrics.json")).calibration?.temperature ?? 1,
  model: new TFLiteModel(new Uint8Array(readFileSync(join(folder, file)))),
  tokenizer: hasSubwords ? new Subwords(pieces, lines("subwords.txt")) : new WordPiece(pieces, lines("characters.txt")),
};
const ASK = {
  classification: (text, second) => answers.classify(student, text, second)[0],
  multi_label: (text, second) => answers.classifyEach(student, text, second).filter(({ given }) => given),
  regression: (text, second) => answers.measure(student, text, second),
  token_classification: (text) => answers.findEntities(student, text),
  question_answering: (text, second) => answers.findAnswer(student, text, second),
  embedding: (text) => [...answers.embed(student, text)],
};

const found = JSON.parse(await read(process.stdin)).map(({ text, second }) => {
  const parts = [text, second].filter((each) => each !== undefined).map((each) => student.tokenizer.tokenize(each));
  const row = student.tokenizer.encode(parts, student.settings.max_length);
  return { row, output: [...student.model.run(row).values], answer: ASK[student.settings.task](text, second) };
});
process.stdout.write(JSON.stringify(found));
