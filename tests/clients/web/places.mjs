/** Places in UTF-16 -> places in characters. */
export function countCharacters(text) {
  const places = new Map();
  let [place, count] = [0, 0];
  for (const character of text) {
    places.set(place, count);
    place += character.length;
    count += 1;
  }
  return places.set(place, count);
}
