import { spawnSync } from "node:child_process";
import { expect, it } from "vitest";
import type { EventDetail } from "@/lib/events/events.shapes";
import { curlRead, curlRedrive, curlReplay, shellQuote } from "./curl";

it("quotes so that a shell sees one word and runs nothing", () => {
  expect(shellQuote("order-77")).toBe("order-77");
  expect(shellQuote("a b; rm -rf $HOME `id`")).toBe("'a b; rm -rf $HOME `id`'");
  expect(shellQuote("it's")).toBe(`'it'\\''s'`);
  expect(shellQuote("")).toBe("''");
});

const OPEN = { origin: "http://localhost:3000", signIn: false };

it("names the event by what a script knows of it", () => {
  expect(curlRead(OPEN, "0199")).toBe("curl -sS http://localhost:3000/api/v1/events/0199");
  expect(curlRedrive(OPEN, { eventId: "a&b c", source: "orders" })).toContain(
    "'http://localhost:3000/ops/dlq/redrive?eventId=a%26b+c&source=orders'",
  );
});

it("replays with the headers of the producer, without those of the transport and of the death", () => {
  const text = curlReplay(OPEN, {
    id: "0199",
    body: { contentType: "application/json; charset=utf-8" },
    headers: [
      ["traceparent", "00-ab-cd-01"],
      ["x-death", "[]", "amqp"],
      ["Content-Length", "12"],
      ["sig", "q83v", "bytes"],
      ["empty", null],
      ["note", "it's"],
    ],
  } as unknown as EventDetail);
  expect(text).toContain("-H 'content-type: application/json; charset=utf-8'");
  expect(text).toContain("-H 'traceparent: 00-ab-cd-01'");
  expect(text).toContain(`-H 'note: it'\\''s'`);
  expect(text).not.toMatch(/x-death|Content-Length|sig:|empty/);
});

const EVENT = {
  id: "0199",
  eventId: "e",
  source: "s",
  headers: [],
  body: { contentType: "a/b" },
} as unknown as EventDetail;

it("reads a token from the environment where sign-in is needed, for Parkade alone", () => {
  const to = { ...OPEN, signIn: true };
  for (const text of [curlRead(to, "0199"), curlRedrive(to, EVENT), curlReplay(to, EVENT)])
    expect(text.match(/-H "authorization: Bearer \$PARKADE_TOKEN"/g)).toHaveLength(1);
  expect(curlReplay(to, EVENT).split("|")[1]).not.toContain("PARKADE_TOKEN");
  expect(curlReplay(OPEN, EVENT)).not.toContain("PARKADE_TOKEN");
});

it("gives no reason for the audit by itself: the shell asks who runs it", () => {
  const text = curlReplay(OPEN, EVENT);
  const shown = (env: Record<string, string>) =>
    spawnSync("sh", ["-c", `curl() { printf '%s\\n' "$@" >&2; }; ${text}`], {
      env: env as NodeJS.ProcessEnv,
      encoding: "utf8",
    }).stderr;
  expect(shown({})).toContain("state why you need the payload");
  expect(shown({})).not.toContain("/api/v1/events/0199");
  expect(shown({ REASON: "ticket 7 & more" }).split("\n")).toEqual(
    expect.arrayContaining(["http://localhost:3000/api/v1/events/0199/payload", "reason=ticket 7 & more"]),
  );
});
