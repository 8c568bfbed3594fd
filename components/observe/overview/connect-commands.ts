import type { KindOut } from "@/lib/sources/kinds.shapes";

/**
 * The shell commands that park a first dead letter. Without a source the first command makes one, of a kind whose events
 * come by the API, by its example.
 *
 * @param origin of this console: `http://127.0.0.1:3000`
 */
export function connectCommands(
  origin: string,
  source: string | null,
  kind: Pick<KindOut, "kind" | "label" | "example"> | null,
): { what: string; text: string }[] {
  const name = source ?? "orders";
  const json = "-H 'content-type: application/json'";
  const event = JSON.stringify({
    source: name,
    eventId: "order-77-created",
    aggregateId: "order-77",
    errorCode: "TIMEOUT",
    error: { message: "no answer from stock within 3000 ms" },
    payload: { orderId: "order-77" },
  });
  const park = {
    what: "Park a dead letter:",
    text: `curl ${origin}/api/v1/events \\\n  ${json} \\\n  -d ${quoted(event)}`,
  };
  if (source !== null || kind === null) return [park];
  const body = JSON.stringify({ name, kind: kind.kind, config: kind.example });
  const make = {
    what: `Create a source that receives dead letters over ${kind.label}:`,
    text: `curl ${origin}/api/v1/sources \\\n  ${json} \\\n  -d ${quoted(body)}`,
  };
  return [make, park];
}

/** One argument of a POSIX shell, with any characters. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
