import type { EventDetail } from "@/lib/events/events.shapes";

/** A text as one quoted word of a POSIX shell. */
export function shellQuote(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

const join = (words: string[]) => words.join(" \\\n  ");

export function curlRead(origin: string, id: string): string {
  return `curl -sS ${shellQuote(`${origin}/api/v1/events/${id}`)}`;
}

/** Redrives the event. A second run of the same command sends nothing again. */
export function curlRedrive(origin: string, event: Pick<EventDetail, "eventId" | "source">): string {
  const query = new URLSearchParams({ eventId: event.eventId, source: event.source });
  return join(["curl -sS -X POST", shellQuote(`${origin}/ops/dlq/redrive?${query}`)]);
}

/** Headers that describe a transport or a failed delivery; they would be wrong on a request made by hand. */
const NOT_SENT =
  /^(host|content-length|content-type|connection|transfer-encoding|x-death|x-first-death.*|x-redrive-.*)$/i;

/**
 * Sends the payload to a service of the reader, to see the failure there: content type and text headers as parked. The
 * bytes are read from Parkade, because a shell cannot hold every byte.
 */
export function curlReplay(origin: string, event: EventDetail): string {
  const headers = event.headers.flatMap(([name, value, encoding]) =>
    value === null || (encoding !== undefined && encoding !== "text") || NOT_SENT.test(name)
      ? []
      : [`-H ${shellQuote(`${name}: ${value}`)}`],
  );
  return `curl -sS ${shellQuote(`${origin}/api/v1/events/${event.id}/payload`)} | \\\n${join([
    "curl -sS -X POST http://localhost:8080/",
    `-H ${shellQuote(`content-type: ${event.body.contentType}`)}`,
    ...headers,
    "--data-binary @-",
  ])}`;
}
