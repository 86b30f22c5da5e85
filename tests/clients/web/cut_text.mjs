// Cuts texts with the tokenizer that apps copy.
//
//     node cut_text.mjs < GIVEN.json
//
// Given are {pieces, characters, texts}; of each text come `plain`, `row`, the ids of the text with itself, and `pieces`:
// id, first character, behind the last.

import { text as read } from "node:stream/consumers";
import { WordPiece } from "../../../keras_bert/clients/wordpiece.js";
import { countCharacters } from "./places.mjs";

const { pieces, characters, texts } = JSON.parse(await read(process.stdin));
const tokenizer = new WordPiece(pieces, characters);

const answers = texts.map((text) => {
  const places = countCharacters(text);
  const tokens = tokenizer.tokenize(text);
  const pieces = tokens.map(({ id, start, end }) => [id, places.get(start), places.get(end)]);
  return { pieces, row: tokenizer.encode([tokens, tokens], 16).token_ids, plain: tokenizer.plain(text) };
});
process.stdout.write(JSON.stringify(answers));
