import type { Origin } from "@/lib/platform/plain/dead-letter.pure";

const NAMES: Record<string, string> = {
  routingKeys: "routing keys",
  messageGroup: "message group",
};
/** The coordinates first, in the order in which a person uses them to find the message. */
const ORDER = [
  "queue",
  "exchange",
  "routingKeys",
  "topic",
  "partition",
  "offset",
  "messageGroup",
  "consumer",
  "convention",
];

function valueText(value: unknown): string {
  if (Array.isArray(value)) return value.map(valueText).join(", ");
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** The origin as lines: the known coordinates, then the other fields. A nested property gets its own line. */
export function originRows(origin: Origin): { name: string; value: string }[] {
  const { properties, ...rest } = origin;
  const rank = (name: string) => (ORDER.includes(name) ? ORDER.indexOf(name) : ORDER.length);
  const entries = [...Object.entries(rest).sort(([a], [b]) => rank(a) - rank(b)), ...Object.entries(properties ?? {})];
  return entries
    .filter(([, value]) => value !== undefined && value !== null && value !== "")
    .map(([name, value]) => ({ name: NAMES[name] ?? name, value: valueText(value) }));
}
