import type { EventDetail } from "@/lib/events/events.shapes";
import { REDACTED } from "@/lib/guard/redaction/redact.pure";

/** A text as one quoted word of a POSIX shell. */
export function shellQuote(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

const join = (words: string[]) => words.join(" \\\n  ");

/** Where a command goes. `signIn`: only signed-in callers are answered, so it takes a token from its environment. */
type CurlTo = { origin: string; signIn: boolean };

const TOKEN = '-H "authorization: Bearer $PARKADE_TOKEN"';
const authorised = ({ signIn }: CurlTo, words: string[]) => join(signIn ? [...words, TOKEN] : words);

export function curlRead(to: CurlTo, id: string): string {
  return authorised(to, [`curl -sS ${shellQuote(`${to.origin}/api/v1/events/${id}`)}`]);
}

/** Redrives the event. A second run of the same command sends nothing again. */
export function curlRedrive(to: CurlTo, event: Pick<EventDetail, "eventId" | "source">): string {
  const query = new URLSearchParams({ eventId: event.eventId, source: event.source });
  return authorised(to, ["curl -sS -X POST", shellQuote(`${to.origin}/ops/dlq/redrive?${query}`)]);
}

/** Headers that describe a transport or a failed delivery; they would be wrong on a request made by hand. */
const NOT_SENT =
  /^(host|content-length|content-type|connection|transfer-encoding|x-death|x-first-death.*|x-redrive-.*)$/i;

/**
 * Sends the payload to a service of the reader, to see the failure there: content type and text headers as parked. The
 * bytes are read from Parkade, because a shell cannot hold every byte. That reveals the payload: the reader gives the reason, which
 * the audit keeps, and the shell stops without one.
 */
export function curlReplay(to: CurlTo, event: EventDetail): string {
  const headers = event.headers.flatMap(([name, value, encoding]) =>
    value === null || (encoding !== undefined && encoding !== "text") || NOT_SENT.test(name) || value.includes(REDACTED)
      ? []
      : [`-H ${shellQuote(`${name}: ${value}`)}`],
  );
  const read = authorised(to, [
    "curl -sS --fail --get",
    shellQuote(`${to.origin}/api/v1/events/${event.id}/payload`),
    `--data-urlencode "reason=\${REASON:?state why you need the payload}"`,
  ]);
  return `${read} | \\\n${join([
    "curl -sS -X POST http://localhost:8080/",
    `-H ${shellQuote(`content-type: ${event.body.contentType}`)}`,
    ...headers,
    "--data-binary @-",
  ])}`;
}
