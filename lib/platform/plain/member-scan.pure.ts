import { type Span, skipSpace } from "./raw-json.pure";

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_ARRAY = 0x5d;
const LETTER_U = 0x75;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/**
 * Where the members of an object lie and what they cost to read, in one pass over its bytes and without an object for each:
 * for events, of which thousands arrive in a second. It knows the plain form alone: `read` is false for an object that has other
 * names, an escaped name or a name twice, or that has no end. Whether the text that it read is JSON, `JSON.parse` says.
 */
export class MemberScan {
  /** The offset behind the object. */
  end = 0;
  /** As `sizeOf` says it: of the deepest and of the largest member besides the body, and of the body. */
  depth = 0;
  values = 0;
  bodyDepth = 0;
  /** Without one, no text of the object holds a NUL or half a surrogate pair: JSON has them by their numbers alone. */
  hasNumberedEscape = false;
  /** By the place of the name in `names`; 0 = the object has no such member. */
  private readonly starts: Int32Array;
  private readonly ends: Int32Array;
  private readonly names: readonly string[];
  private readonly body: number;
  private readonly places: ReadonlyMap<number, number>;

  /** `names`: ASCII. `body`: the one that is not read with the others. */
  constructor(names: readonly string[], body: string) {
    this.names = names;
    this.body = names.indexOf(body);
    this.places = new Map(names.map((name, place) => [hashOf(name), place]));
    if (this.places.size < names.length) throw new RangeError("two names have one hash");
    [this.starts, this.ends] = [new Int32Array(names.length), new Int32Array(names.length)];
  }

  spanOf(name: string): Span | undefined {
    const place = this.names.indexOf(name);
    return this.starts[place] === 0 ? undefined : { start: this.starts[place]!, end: this.ends[place]! };
  }

  /** Reads the object that starts at `start`, and forgets the one before. */
  read(bytes: Uint8Array, start: number, until: number): boolean {
    this.starts.fill(0);
    [this.depth, this.values, this.bodyDepth, this.hasNumberedEscape] = [0, 0, 0, false];
    let at = skipSpace(bytes, start + 1, until);
    for (;;) {
      if (at >= until || bytes[at] !== QUOTE) return false;
      const nameAt = at + 1;
      let hash = 0;
      for (at = nameAt; at < until && bytes[at] !== QUOTE; at++) hash = (Math.imul(hash, 31) + bytes[at]!) | 0;
      const place = this.places.get(hash);
      if (place === undefined || this.starts[place] !== 0 || !this.isName(place, bytes, nameAt, at)) return false;
      at = skipSpace(bytes, at + 1, until);
      if (bytes[at] !== COLON) return false;
      at = skipSpace(bytes, at + 1, until);
      this.starts[place] = at;
      at = this.endOfValue(bytes, at, until, place);
      if (at < 0) return false;
      this.ends[place] = at;
      at = skipSpace(bytes, at, until);
      if (bytes[at] === CLOSE_OBJECT) break;
      if (bytes[at] !== COMMA) return false;
      at = skipSpace(bytes, at + 1, until);
    }
    this.end = at + 1;
    return this.end <= until;
  }

  private isName(place: number, bytes: Uint8Array, from: number, to: number): boolean {
    const name = this.names[place]!;
    if (to - from !== name.length) return false;
    for (let i = 0; i < name.length; i++) if (bytes[from + i] !== name.charCodeAt(i)) return false;
    return true;
  }

  /** -1 = it has none. */
  private endOfValue(bytes: Uint8Array, start: number, until: number, place: number): number {
    let [depth, deepest, values] = [0, 0, 1];
    let end = -1;
    for (let at = start; at < until; at++) {
      const byte = bytes[at]!;
      if (byte === QUOTE) {
        for (at++; at < until && bytes[at] !== QUOTE; at++) {
          if (bytes[at] === BACKSLASH && bytes[++at] === LETTER_U) this.hasNumberedEscape = true;
        }
        if (depth === 0) {
          end = at + 1;
          break;
        }
      } else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
        values++;
        if (++depth > deepest) deepest = depth;
      } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
        if (depth <= 1) {
          // Of a number or a literal it is the end of what encloses it.
          end = depth === 0 ? at : at + 1;
          break;
        }
        depth--;
      } else if (byte === COMMA) {
        if (depth === 0) {
          end = at;
          break;
        }
        values++;
      } else if (depth === 0 && byte <= 0x20) {
        end = at;
        break;
      }
    }
    if (place === this.body) this.bodyDepth = deepest;
    else {
      if (deepest > this.depth) this.depth = deepest;
      if (values > this.values) this.values = values;
    }
    return end > start && end <= until ? end : -1;
  }
}

function hashOf(name: string): number {
  let hash = 0;
  for (let i = 0; i < name.length; i++) hash = (Math.imul(hash, 31) + name.charCodeAt(i)) | 0;
  return hash;
}
