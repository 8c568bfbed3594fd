/**
 * The shell commands that park a first dead letter. Without a source the first command creates one.
 *
 * @param origin of this console: `http://127.0.0.1:3000`
 */
export function connectCommands(origin: string, source: string | null): { what: string; text: string }[] {
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
  if (source !== null) return [park];
  const body = JSON.stringify({ name, kind: "http", config: { redriveUrl: "http://127.0.0.1:8080/redrive" } });
  const make = {
    what: "Make a source that takes dead letters over HTTP:",
    text: `curl ${origin}/api/v1/sources \\\n  ${json} \\\n  -d ${quoted(body)}`,
  };
  return [make, park];
}

/** One argument of a POSIX shell, with any characters. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
