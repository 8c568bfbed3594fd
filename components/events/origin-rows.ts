import type { Origin } from "@/lib/core/dead-letter";

const NAMES: Record<string, string> = {
  routingKeys: "routing keys",
  messageGroup: "message group",
};
/** Coordinates first, in the order in which one finds the message with them. */
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

/** The origin as lines of name and value: known coordinates, then what else the convention knew. Properties unfold. */
export function originRows(origin: Origin): { name: string; value: string }[] {
  const { properties, ...rest } = origin;
  const rank = (name: string) => (ORDER.includes(name) ? ORDER.indexOf(name) : ORDER.length);
  const entries = [...Object.entries(rest).sort(([a], [b]) => rank(a) - rank(b)), ...Object.entries(properties ?? {})];
  return entries
    .filter(([, value]) => value !== undefined && value !== null && value !== "")
    .map(([name, value]) => ({ name: NAMES[name] ?? name, value: valueText(value) }));
}
