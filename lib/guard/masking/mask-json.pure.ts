import { endOfValue, REDACTED } from "@/lib/guard/redaction/redact.pure";
import { isCard, maskParts } from "./detectors.pure";
import { type MaskSet, ruleOfName, ruleOfPath } from "./mask-rule.pure";
import { findInText } from "./mask-text.pure";
import { depthOf, type Path, type Place, pathTo, placeAt, placeIn } from "./place.pure";

/** A value or a name in a JSON text that is shown otherwise. `start`, `end`: the characters of the text. */
export type MaskedPlace = {
  /** null = the document. */
  place: Place | null;
  /** The name of the member; null = it is an element, or the document. */
  name: string | null;
  start: number;
  end: number;
  shown: string;
  /** The rule. */
  by: string;
};

export const MASK = JSON.stringify(REDACTED);
/** JSON in a string in JSON, so many times. What is deeper is masked as a whole. */
const NESTED_MAX = 4;
/** Objects and arrays in each other, those in such strings included. What is deeper is masked as a whole. */
const DEPTH_MAX = 512;
const TOO_DEEP = { shown: MASK, by: "nested too deeply" };

/** The masked places of a JSON text, in their order; null = the text is not JSON. Every occurrence of a name counts. */
export function maskedPlaces(text: string, set: MaskSet, path: Path = []): MaskedPlace[] | null {
  return placesOf(text, { set, outer: placeAt(path), nested: 0 });
}

/** The mask, plain or as a JSON writer may escape it. */
const ANY_MASK = /(?:\u2022|\\u2022){6}/gi;

export function countMasks(text: string): number {
  return text.match(ANY_MASK)?.length ?? 0;
}

type ScanOptions = {
  set: MaskSet;
  /** Where the document stands: in a string of another, or in a larger one. */
  outer: Place | null;
  nested: number;
};

function placesOf(text: string, options: ScanOptions): MaskedPlace[] | null {
  // Past the mark of the byte order, which the parser refuses.
  const begin = text.startsWith("\uFEFF") ? 1 : 0;
  try {
    JSON.parse(begin === 0 ? text : text.slice(1));
  } catch {
    return null;
  }
  return new Scan(text, options).run(begin);
}

/** The text with the places replaced, and every other character unchanged. */
export function maskPlaces(text: string, places: readonly Pick<MaskedPlace, "start" | "end" | "shown">[]): string {
  let shown = "";
  let from = 0;
  for (const place of places) {
    shown += text.slice(from, place.start) + place.shown;
    from = place.end;
  }
  return shown + text.slice(from);
}

const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\]:,]|[^\s,:{}[\]"]+/g;

type Frame = { isObject: boolean; index: number; name: string; expectsName: boolean; place: Place | null };

function textOf(word: string): string {
  return word.includes("\\") ? (JSON.parse(word) as string) : word.slice(1, -1);
}

/** One pass over a valid document. */
class Scan {
  readonly #places: MaskedPlace[] = [];
  readonly #frames: Frame[] = [];

  private readonly text: string;
  readonly options: ScanOptions;

  constructor(text: string, options: ScanOptions) {
    this.text = text;
    this.options = options;
  }

  run(begin: number): MaskedPlace[] {
    const token = new RegExp(TOKEN);
    token.lastIndex = begin;
    for (let found = token.exec(this.text); found; found = token.exec(this.text)) {
      const [word] = found;
      const frame = this.#frames.at(-1);
      if (word === "}" || word === "]") this.#frames.pop();
      else if (word === ",") {
        frame!.index++;
        frame!.expectsName = frame!.isObject;
      } else if (word === ":") frame!.expectsName = false;
      else if (frame?.expectsName) {
        frame.name = textOf(word);
        this.#string(word, found.index, frame.name);
      } else token.lastIndex = this.#value(word, found.index);
    }
    return this.#places;
  }

  /** Where the scan is. */
  #place(): Place | null {
    const frame = this.#frames.at(-1);
    return frame === undefined ? this.options.outer : placeIn(frame.place, frame.isObject ? frame.name : frame.index);
  }

  /** The end of what was read. */
  #value(word: string, start: number): number {
    const { set } = this.options;
    const frame = this.#frames.at(-1);
    const name = frame?.isObject ? frame.name : null;
    const end = start + word.length;
    if (word === "null") return end;
    const depth = depthOf(this.options.outer) + this.#frames.length;
    const by =
      (name === null ? null : ruleOfName(set, name)) ??
      (set.pointers.some(({ length }) => length === depth) ? ruleOfPath(set, pathTo(this.#place())) : null);
    const isContainer = word === "{" || word === "[";
    if (by !== null || (isContainer && depth >= DEPTH_MAX)) {
      const whole = endOfValue(this.text, start);
      this.#add({ name, start, end: whole, ...(by === null ? TOO_DEEP : { shown: MASK, by }) });
      return whole;
    }
    if (isContainer) {
      const isObject = word === "{";
      this.#frames.push({ isObject, index: 0, name: "", expectsName: isObject, place: this.#place() });
    } else if (word.startsWith('"')) this.#string(word, start, name);
    else if (set.detectors.has("card") && /^\d{13,19}$/.test(word) && isCard(word))
      this.#add({ name, start, end, shown: MASK, by: "card" });
    return end;
  }

  #string(word: string, start: number, name: string | null): void {
    const value = textOf(word);
    const masked = this.#masked(value);
    if (masked === null) return;
    const { shown, by } = masked;
    this.#add({ name, start, end: start + word.length, shown: JSON.stringify(shown), by });
  }

  /** How a string is shown; null = as it is. */
  #masked(value: string): { shown: string; by: string } | null {
    const { set, nested } = this.options;
    if (/^\s{0,100}[{["]/.test(value)) {
      if (nested >= NESTED_MAX) return { shown: REDACTED, by: TOO_DEEP.by };
      const inner = placesOf(value, { set, outer: this.#place(), nested: nested + 1 });
      if (inner !== null) return inner.length === 0 ? null : { shown: maskPlaces(value, inner), by: inner[0]!.by };
    }
    const found = findInText(value, set);
    return found.length === 0 ? null : { shown: maskParts(value, found), by: found[0]!.by };
  }

  #add(place: Omit<MaskedPlace, "place">): void {
    this.#places.push({ place: this.#place(), ...place });
  }
}
