import { maskBody, maskHeaders } from "@/lib/guard/masking/mask.pure";
import {
  holdsMask,
  type MaskedPlace,
  markedPlaces,
  maskedPlaces,
  maskPlaces,
} from "@/lib/guard/masking/mask-json.pure";
import { type MaskSet, ruleOfName } from "@/lib/guard/masking/mask-rule.pure";
import { maskText } from "@/lib/guard/masking/mask-text.pure";
import { placeNumbers, shownPointer } from "@/lib/guard/masking/place.pure";
import { REDACTED } from "@/lib/guard/redaction/redact.pure";
import type { Header } from "@/lib/intake/dead-letter.pure";

/**
 * An edit by somebody who sees masked values. What was masked comes back as the mask, and keeps its stored value: it can
 * neither be changed nor removed by who cannot see it, and a mask is never stored.
 */
export type Unmasked<Value> = { value: Value; fault: null } | { fault: string; field: string };

export type Masking = { set: MaskSet; mayReveal: boolean };

const WHOLE =
  "is masked as a whole, or in parts of a text that is no JSON: reveal it first, or ask somebody who may reveal payloads to edit it";

/** `base`: the stored text; `edited`: what was sent for it. */
export function unmaskText(base: string, edited: string, { set, mayReveal }: Masking): Unmasked<string> {
  const refuse = (fault: string): Unmasked<string> => ({ fault, field: "text" });
  const masked = maskedPlaces(base, set);
  const isPlain = masked === null ? maskBody(base, set).count === 0 : masked.length === 0;
  // Who may reveal has revealed it, or gives new values: the audit holds both.
  if (mayReveal && (!holdsMask(edited) || (isPlain && holdsMask(base)))) return { value: edited, fault: null };
  if (masked === null) {
    if (!isPlain) return refuse(WHOLE);
    return holdsMask(edited) ? refuse(NO_MASK) : { value: edited, fault: null };
  }
  const sent = markedPlaces(edited, set);
  if (sent === null) {
    if (masked.length > 0) return refuse("is no JSON any more, so its masked values cannot be put back");
    return holdsMask(edited) ? refuse(NO_MASK) : { value: edited, fault: null };
  }
  const inOrder = pairInOrder(masked, sent, edited, set);
  const pairs = "fault" in inOrder && mayReveal ? pairByPlace(masked, sent, edited, set) : inOrder;
  if ("fault" in pairs) return refuse(pairs.fault);
  const value = maskPlaces(
    edited,
    pairs.pairs.map(([place, own]) => ({ ...place, shown: base.slice(own.start, own.end) })),
  );
  return isStillMasked(pairs.pairs, base, value, set) ? { value, fault: null } : refuse(MOVED);
}

const NO_MASK = `holds the mask ${REDACTED} where no masked value was: it would be stored as a value`;
const MOVED =
  "moves a masked value to where it would be shown: leave it where it is, or ask somebody who may reveal payloads";

type Pair = readonly [place: MaskedPlace, own: MaskedPlace];
type Pairs = { pairs: Pair[] } | { fault: string };

/** The masked values in the order of the stored text, each under its name. */
function pairInOrder(
  masked: readonly MaskedPlace[],
  sent: readonly MaskedPlace[],
  edited: string,
  set: MaskSet,
): Pairs {
  const shownName = ({ name }: MaskedPlace) => (name === null ? null : maskText(name, set));
  for (const [at, own] of masked.entries()) {
    const place = sent[at];
    if (!place || shownName(place) !== shownName(own) || edited.slice(place.start, place.end) !== own.shown)
      return { fault: forbidden(maskText(own.name ?? shownPointer(own.place), set)) };
  }
  const more = sent[masked.length];
  if (more)
    return {
      fault: holdsMask(edited.slice(more.start, more.end)) ? NO_MASK : forbidden(more.name ?? shownPointer(more.place)),
    };
  return { pairs: masked.map((own, at) => [sent[at]!, own]) };
}

/** Of somebody who may reveal: each mask that is left stands where it stood. The others were removed, or have new values. */
function pairByPlace(
  masked: readonly MaskedPlace[],
  sent: readonly MaskedPlace[],
  edited: string,
  set: MaskSet,
): Pairs {
  // A name on the way may be masked, too.
  const numberOf = placeNumbers((name) => maskText(name, set));
  const left = Map.groupBy(masked, ({ place }) => numberOf(place));
  const pairs: Pair[] = [];
  for (const place of sent) {
    const text = edited.slice(place.start, place.end);
    if (!holdsMask(text)) continue;
    const own = left.get(numberOf(place.place))?.shift();
    if (own?.shown !== text) return { fault: NO_MASK };
    pairs.push([place, own]);
  }
  return { pairs };
}

/** A pointer, or a name around a value, may mask it no more: the edit would show what its author could not see. */
function isStillMasked(pairs: readonly Pair[], base: string, value: string, set: MaskSet): boolean {
  const places = new Map((maskedPlaces(value, set) ?? []).map((place) => [place.start, place]));
  let moved = 0;
  return pairs.every(([place, own]) => {
    const start = place.start + moved;
    moved += own.end - own.start - (place.end - place.start);
    const now = places.get(start);
    return now?.shown === own.shown && value.slice(now.start, now.end) === base.slice(own.start, own.end);
  });
}

function forbidden(name: string): string {
  return `changes the masked value of ${JSON.stringify(name)}: leave it as ${REDACTED}, or ask somebody who may reveal payloads`;
}

/**
 * The same for headers: a masked one keeps the stored value of the header with its name, in their order. Who may reveal may
 * also give it another value, or remove it.
 */
export function unmaskHeaders(
  base: readonly Header[],
  edited: readonly Header[],
  { set, mayReveal }: Masking,
): Unmasked<Header[]> {
  const shown = maskHeaders(base, set);
  const masked = base.flatMap((header, index) =>
    shown[index]![1] === header[1] ? [] : [{ header, shown: shown[index]![1] }],
  );
  const stored = Map.groupBy(masked, ({ header }) => header[0].toLowerCase());
  const value: Header[] = [];
  for (const [index, header] of edited.entries()) {
    const [name, text] = header;
    const field = `headers[${index}]`;
    if (text === null || !text.includes(REDACTED)) {
      if (text !== null && ruleOfName(set, name) !== null && !mayReveal) return { fault: forbidden(name), field };
      value.push(header);
      continue;
    }
    const own = stored.get(name.toLowerCase())?.shift();
    if (own?.shown !== text) return { fault: NO_MASK, field };
    value.push(own.header);
  }
  const gone = [...stored.values()].flat()[0]?.header;
  if (gone && !mayReveal)
    return { fault: `lack ${gone[0]}, whose value is masked: ${forbidden(gone[0])}`, field: "headers" };
  return { value, fault: null };
}
