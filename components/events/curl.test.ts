import { expect, it } from "vitest";
import type { EventDetail } from "@/lib/events/events.shapes";
import { curlRead, curlRedrive, curlReplay, shellQuote } from "./curl";

it("quotes so that a shell sees one word and runs nothing", () => {
  expect(shellQuote("order-77")).toBe("order-77");
  expect(shellQuote("a b; rm -rf $HOME `id`")).toBe("'a b; rm -rf $HOME `id`'");
  expect(shellQuote("it's")).toBe(`'it'\\''s'`);
  expect(shellQuote("")).toBe("''");
});

it("names the event by what a script knows of it", () => {
  expect(curlRead("http://localhost:3000", "0199")).toBe("curl -sS http://localhost:3000/api/v1/events/0199");
  expect(curlRedrive("http://localhost:3000", { eventId: "a&b c", source: "orders" })).toContain(
    "'http://localhost:3000/ops/dlq/redrive?eventId=a%26b+c&source=orders'",
  );
});

it("replays with the headers of the producer, without those of the transport and of the death", () => {
  const text = curlReplay("http://p", {
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
