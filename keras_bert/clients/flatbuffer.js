/** Reads flatbuffers: what a field holds by its number, without a schema's code. */

/** A table: its fields, each with what is meant where it is left out. */
export class Table {
  constructor(view, place) {
    this.view = view;
    this.place = place;
    this.fields = place - view.getInt32(place, true);
  }
  at(field) {
    const entry = 4 + 2 * field;
    const offset = entry < this.view.getUint16(this.fields, true) ? this.view.getUint16(this.fields + entry, true) : 0;
    return offset && this.place + offset;
  }
  number(field, read, missing = 0) {
    const place = this.at(field);
    return place ? this.view[read](place, true) : missing;
  }
  int(field, missing) { return this.number(field, "getInt32", missing); }
  byte(field, missing) { return this.number(field, "getInt8", missing); }
  float(field, missing) { return this.number(field, "getFloat32", missing); }
  target(field) {
    const place = this.at(field);
    return place && place + this.view.getUint32(place, true);
  }
  table(field) {
    const place = this.target(field);
    return place ? new Table(this.view, place) : null;
  }
  vector(field, size, read) {
    const place = this.target(field);
    const count = place ? this.view.getUint32(place, true) : 0;
    return Array.from({ length: count }, (_, index) => read(place + 4 + size * index));
  }
  ints(field) { return this.vector(field, 4, (place) => this.view.getInt32(place, true)); }
  floats(field) { return this.vector(field, 4, (place) => this.view.getFloat32(place, true)); }
  longs(field) { return this.vector(field, 8, (place) => Number(this.view.getBigInt64(place, true))); }
  tables(field) {
    return this.vector(field, 4, (place) => new Table(this.view, place + this.view.getUint32(place, true)));
  }
  bytes(field) {
    const place = this.target(field);
    if (!place) return new Uint8Array();
    return new Uint8Array(this.view.buffer, this.view.byteOffset + place + 4, this.view.getUint32(place, true));
  }
  text(field) { return new TextDecoder().decode(this.bytes(field)); }
}
