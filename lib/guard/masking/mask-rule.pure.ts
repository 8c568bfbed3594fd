import { isSecretName } from "@/lib/guard/redaction/redact.pure";
import { pointerText } from "./place.pure";

/** `secret-names` masks values under names of credentials; the others look at values. All are on unless a rule says otherwise. */
export const DETECTORS = ["secret-names", "token", "card", "email", "iban"] as const;
export type Detector = (typeof DETECTORS)[number];

export const MASK_KINDS = ["pointer", "key", "detector"] as const;
export type MaskKind = (typeof MASK_KINDS)[number];

/**
 * `pointer`: the value at a JSON pointer (RFC 6901), in which `*` is any one segment. `key`: values under names that match
 * a glob, without case. `detector`: the name of one; such a rule exists to switch it off, or on again for one source.
 */
export type MaskRule = {
  /** null = every source. */
  source: string | null;
  kind: MaskKind;
  pattern: string;
  enabled: boolean;
};

/** The rules that apply to one source. */
export type MaskSet = {
  detectors: ReadonlySet<Detector>;
  keys: readonly string[];
  pointers: readonly (readonly string[])[];
  /** Last segments of the pointers: in a text that is not JSON, names of values. */
  pointerNames: readonly string[];
  /** A payload that is no JSON is masked as a whole. */
  wholeTexts: boolean;
};

export type Masks = {
  /** null: of several sources, or of one that is not known, so the rules of all apply. */
  of(source: string | null): MaskSet;
};

export function masksOf(rules: readonly MaskRule[]): Masks {
  const made = new Map<string | null, MaskSet>();
  return {
    of(source) {
      let set = made.get(source);
      if (set === undefined) {
        set = maskSetOf(rules, source);
        // Names of sources come from rows, but a caller may ask for any.
        if (made.size < 1_000) made.set(source, set);
      }
      return set;
    },
  };
}

/** Of what is revealed. */
export const NOTHING_MASKED: MaskSet = {
  detectors: new Set(),
  keys: [],
  pointers: [],
  pointerNames: [],
  wholeTexts: false,
};

/** What is masked before anybody has written a rule. */
export const DEFAULT_MASKS: Masks = masksOf([]);

function maskSetOf(rules: readonly MaskRule[], source: string | null): MaskSet {
  const own = rules.filter((rule) => source === null || rule.source === null || rule.source === source);
  const patterns = (kind: MaskKind) =>
    own.filter((rule) => rule.kind === kind && rule.enabled).map(({ pattern }) => pattern);
  const pointers = patterns("pointer").map(segmentsOf);
  return {
    detectors: new Set(DETECTORS.filter((detector) => isOn(own, detector, source))),
    keys: patterns("key").map((pattern) => pattern.toLowerCase()),
    pointers,
    // A pointer has no place in a text that is not JSON.
    wholeTexts: pointers.length > 0,
    pointerNames: pointers.flatMap((segments) => segments.findLast((segment) => !isIndexOrAny(segment)) ?? []),
  };
}

/** A rule for the source counts before one for every source. Of several sources, one that has the detector is enough. */
function isOn(rules: readonly MaskRule[], detector: Detector, source: string | null): boolean {
  const own = rules.filter(({ kind, pattern }) => kind === "detector" && pattern === detector);
  const everywhere = own.find((rule) => rule.source === null)?.enabled ?? true;
  if (source === null) return everywhere || own.some(({ enabled }) => enabled);
  return own.find((rule) => rule.source === source)?.enabled ?? everywhere;
}

function isIndexOrAny(segment: string): boolean {
  return segment === "*" || /^\d+$/.test(segment);
}

/** The names and indexes of a JSON pointer. */
export function segmentsOf(pointer: string): string[] {
  return pointer
    .split("/")
    .slice(1)
    .map((segment) => segment.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** The source whose rules apply to what comes from these; null = those of all do. */
export function oneSource(sources: readonly string[] | null | undefined): string | null {
  return sources?.length === 1 ? sources[0]! : null;
}

/**
 * The rules for somebody who may not reveal: of a payload that is no JSON the detectors find what they know, and not, say, a
 * password in a sentence. Who may reveal sees the rest of such a text.
 */
export function setFor(set: MaskSet, mayReveal: boolean): MaskSet {
  return mayReveal || set.wholeTexts ? set : { ...set, wholeTexts: true };
}

/** Which rule masks the value under a name; null = none does. */
export function ruleOfName(set: MaskSet, name: string): string | null {
  if (set.detectors.has("secret-names") && isSecretName(name)) return "secret-names";
  if (set.keys.length === 0) return null;
  const lower = name.toLowerCase().slice(0, 500);
  const glob = set.keys.find((key) => matchesGlob(key, lower));
  return glob === undefined ? null : `key ${glob}`;
}

/** The same in a text that is not JSON, where a pointer is known by its last name alone. */
export function ruleOfTextName(set: MaskSet, name: string): string | null {
  return ruleOfName(set, name) ?? (set.pointerNames.includes(name) ? `pointer .../${name}` : null);
}

export function ruleOfPath(set: MaskSet, path: readonly (string | number)[]): string | null {
  for (const segments of set.pointers) {
    if (segments.length !== path.length) continue;
    if (segments.every((segment, index) => segment === "*" || segment === String(path[index])))
      return `pointer ${pointerText(segments)}`;
  }
  return null;
}

/** Which rule masks the value at a path, or a value around it. */
export function ruleOfPlace(set: MaskSet, path: readonly (string | number)[]): string | null {
  for (const [index, segment] of path.entries()) {
    const by =
      (typeof segment === "string" ? ruleOfName(set, segment) : null) ?? ruleOfPath(set, path.slice(0, index + 1));
    if (by !== null) return by;
  }
  return null;
}

/** `*` is any text, `?` one character. Takes at most length times length steps, whatever the pattern. */
export function matchesGlob(glob: string, text: string): boolean {
  let [at, star, from] = [0, -1, 0];
  for (let index = 0; index < text.length; ) {
    if (glob[at] === "*") {
      [star, from] = [at, index];
      at++;
    } else if (at < glob.length && (glob[at] === "?" || glob[at] === text[index])) {
      at++;
      index++;
    } else if (star >= 0) {
      from++;
      [at, index] = [star + 1, from];
    } else return false;
  }
  while (glob[at] === "*") at++;
  return at === glob.length;
}

const GLOB_MAX = 128;
const POINTER_MAX = 512;

/** Why a pattern is refused; null = it is none of that. */
export function patternFault(kind: MaskKind, pattern: string): string | null {
  if (kind === "detector") {
    return (DETECTORS as readonly string[]).includes(pattern) ? null : `must be one of ${DETECTORS.join(", ")}`;
  }
  if (kind === "key") {
    if (pattern.trim() !== pattern || pattern === "") return "must be the name of a field, in which * matches any text";
    if (/^[*?]+$/.test(pattern)) return "must contain a character other than * and ?: it would match every name";
    return pattern.length > GLOB_MAX ? `must have at most ${GLOB_MAX} characters` : null;
  }
  if (!pattern.startsWith("/")) return "must be a JSON pointer such as /customer/email, in which * matches one segment";
  if (/~(?![01])/.test(pattern)) return "must write ~ as ~0 and / in a name as ~1";
  return pattern.length > POINTER_MAX ? `must have at most ${POINTER_MAX} characters` : null;
}
