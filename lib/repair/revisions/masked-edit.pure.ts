import { isSecretHeader, REDACTED, secretValues } from "@/lib/guard/redaction/redact.pure";
import type { Header } from "@/lib/intake/dead-letter.pure";

/**
 * An edit by somebody who sees masked values. What was masked comes back as the mask, and keeps its stored value: it can
 * neither be changed nor removed by who cannot see it, and a mask is never stored.
 */
export type Unmasked<Value> = { value: Value; fault: null } | { fault: string; field: string };

const MASK = JSON.stringify(REDACTED);
/** The mask as a JSON writer may escape it. */
const ESCAPED_MASK = /(?:\\u2022){6}/i;

/** `base`: the stored text; `edited`: what was sent for it. */
export function unmaskText(base: string, edited: string): Unmasked<string> {
  const refuse = (fault: string): Unmasked<string> => ({ fault, field: "text" });
  const masked = secretValues(base);
  if (masked === null) {
    return refuse("is masked as a whole for you: ask somebody who may reveal payloads to edit it");
  }
  const sent = secretValues(edited);
  if (sent === null) {
    if (masked.length > 0) return refuse("is no JSON any more, so its masked values cannot be put back");
    return holdsMask(edited) ? refuse(NO_MASK) : { value: edited, fault: null };
  }
  for (const [place, { name }] of masked.entries()) {
    const other = sent[place];
    if (other?.name !== name || edited.slice(other.start, other.end) !== MASK) return refuse(forbidden(name));
  }
  if (sent.length > masked.length) return refuse(forbidden(sent[masked.length]!.name));
  let value = "";
  let rest = "";
  let from = 0;
  for (const [place, { start, end }] of sent.entries()) {
    const between = edited.slice(from, start);
    rest += between;
    value += between + base.slice(masked[place]!.start, masked[place]!.end);
    from = end;
  }
  rest += edited.slice(from);
  return holdsMask(rest) ? refuse(NO_MASK) : { value: value + edited.slice(from), fault: null };
}

const NO_MASK = `holds the mask ${REDACTED} where no masked value was: it would be stored as a value`;

/** Whether a text holds the mask, plain or as JSON may escape it. */
export function holdsMask(text: string): boolean {
  return text.includes(REDACTED) || ESCAPED_MASK.test(text);
}

function forbidden(name: string): string {
  return `changes the masked value of ${JSON.stringify(name)}: leave it as ${REDACTED}, or ask somebody who may reveal payloads`;
}

/**
 * The same for headers, whose credentials nobody sees: a masked one keeps the stored value of the header with its name, in
 * their order. Who may reveal may also give it another value, or remove it.
 */
export function unmaskHeaders(
  base: readonly Header[],
  edited: readonly Header[],
  mayReveal: boolean,
): Unmasked<Header[]> {
  const stored = Map.groupBy(
    base.filter(([name, value]) => value !== null && isSecretHeader(name)),
    ([name]) => name.toLowerCase(),
  );
  const value: Header[] = [];
  for (const [index, header] of edited.entries()) {
    const [name, text] = header;
    const field = `headers[${index}]`;
    if (text === null || !text.includes(REDACTED)) {
      if (text !== null && isSecretHeader(name) && !mayReveal) return { fault: forbidden(name), field };
      value.push(header);
      continue;
    }
    const own = text === REDACTED ? stored.get(name.toLowerCase())?.shift() : undefined;
    if (own === undefined) return { fault: NO_MASK, field };
    value.push(own);
  }
  const gone = [...stored.values()].flat()[0];
  if (gone && !mayReveal)
    return { fault: `lack ${gone[0]}, whose value is masked: ${forbidden(gone[0])}`, field: "headers" };
  return { value, fault: null };
}
