/**
 * Where a value stands in a document. Each knows the one around it, so that the places of a whole document take memory and time in
 * proportion to its text, however deep it is.
 */
export type Place = {
  /** null = the document. */
  readonly around: Place | null;
  readonly segment: string | number;
  /** Segments from the document to here. */
  readonly depth: number;
};

export type Path = readonly (string | number)[];

export function placeIn(around: Place | null, segment: string | number): Place {
  return { around, segment, depth: depthOf(around) + 1 };
}

export function depthOf(place: Place | null): number {
  return place?.depth ?? 0;
}

/** The place at a path; null = the document. */
export function placeAt(path: Path): Place | null {
  return path.reduce<Place | null>(placeIn, null);
}

export function pathTo(place: Place | null): (string | number)[] {
  const path: (string | number)[] = [];
  for (let at = place; at !== null; at = at.around) path.push(at.segment);
  return path.reverse();
}

/** A JSON pointer (RFC 6901). */
export function pointerText(path: Path): string {
  return path.map((segment) => `/${String(segment).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

/** A sender chooses the names: one of a megabyte would stand in the pointer of each value below it. */
const NAME_SHOWN_MAX = 200;
const POINTER_SHOWN_MAX = 1_000;

/** The pointer as a person reads it: what is long in it is cut, and ends with `…`. */
export function shownPointer(place: Place | null): string {
  const pointer = pointerText(pathTo(place).map((segment) => cut(String(segment), NAME_SHOWN_MAX)));
  return cut(pointer, POINTER_SHOWN_MAX);
}

function cut(text: string, max: number): string {
  return text.length > max ? `${text.slice(0, max).toWellFormed()}…` : text;
}
