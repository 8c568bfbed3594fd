import { describe, expect, test } from "vitest";
import { fingerprintOf } from "@/lib/events/groups/fingerprint.pure";
import { StaleVersionError } from "@/lib/kit/inbox/process-once";
import {
  createTarget,
  ensureOk,
  execute,
  GUARDS,
  type OperationError,
  type RetryPolicy,
  type Send,
} from "@/lib/kit/retry/retry";
import { type FailedMessage, parkEvent } from "./event";

const at = { source: "orders", nowMs: 1_795_000_000_000 };
const event = (error: unknown, message: Partial<FailedMessage> = {}) =>
  JSON.parse(parkEvent(error, { eventId: "e1", payload: { n: 1 }, ...message }, at).line);

describe("what Parkade learns of the error", () => {
  test("type, message, and the stacks along the chain of causes", () => {
    class StockError extends Error {}
    const error = new StockError("no stock", { cause: new TypeError("x is undefined") });
    const { type, message, stack } = event(error).error;
    expect([type, message]).toEqual(["StockError", "no stock"]);
    expect(stack).toMatch(/^Error: no stock\n[\s\S]*Caused by: TypeError: x is undefined\n/);
  });

  test.each([
    [Object.assign(new Error("x"), { code: "ETIMEDOUT" }), "TIMEOUT"],
    [new DOMException("late", "TimeoutError"), "TIMEOUT"],
    [
      new TypeError("fetch failed", { cause: Object.assign(new Error(), { code: "ECONNREFUSED" }) }),
      "CONNECTION_ERROR",
    ],
    [Object.assign(new Error("x"), { status: 503 }), "UPSTREAM_5XX"],
    [Object.assign(new Error("x"), { response: { status: 422 } }), "UPSTREAM_4XX"],
    [new StaleVersionError({ aggregateId: "77", version: 3 }, "e1"), "VERSION_CONFLICT"],
    [Object.assign(new Error("x"), { name: "ZodError" }), "VALIDATION_ERROR"],
    [new SyntaxError("Unexpected token"), "DESERIALIZATION_ERROR"],
    [new TypeError("x.y is not a function"), "CONSUMER_BUG"],
    [new Error("x"), "UNHANDLED_EXCEPTION"],
    ["just text", "UNHANDLED_EXCEPTION"],
  ])("%s is %s", (error, code) => {
    expect(event(error).errorCode).toBe(code);
  });

  describe("of an error of the retry engine", () => {
    const once = { maxAttempts: 1 } as const;
    const given = async (send: Send<unknown>, policy: RetryPolicy = once) =>
      execute(policy, send, { idempotent: true }).catch((error: unknown) => error);
    const answer = async (status: number) => ensureOk(new Response("no", { status }));

    test.each([
      ["permanent", 422, "UPSTREAM_4XX"],
      ["exhausted", 503, "UPSTREAM_5XX"],
    ])("%s: the cause's type, message and family, the reason beside it", async (reason, status, errorCode) => {
      const thrown = await given(() => answer(status));
      expect((thrown as OperationError).code).toBe(`HTTP_${status}`);
      const said = event(thrown, { tags: { shop: "1" } });
      expect(said).toMatchObject({ errorCode, attempts: 1, tags: { shop: "1", "gave-up": reason } });
      expect([said.error.type, said.error.message]).toEqual(["HttpError", `HTTP ${status}`]);
      expect(said.error.stack).toMatch(
        new RegExp(
          `^HttpError: HTTP ${status}\\n[\\s\\S]*Given up by: OperationError: failed \\(${reason}\\) after 1 attempts`,
        ),
      );
    });

    test("one cause is one group, whichever way the engine gave up", async () => {
      const send = () => answer(503);
      const budget = { ...GUARDS.budget, ratio: 0, floorPerSecond: 0, ceilingPerSecond: 0 };
      const target = createTarget({ maxAttempts: 3, budget });
      const ways = [
        await given(send),
        await execute(target, send, { idempotent: true }).catch((error: unknown) => error),
      ];
      const said = ways.map((error) => event(error));
      expect(new Set(said.map(({ tags }) => tags["gave-up"]))).toEqual(new Set(["exhausted", "budget"]));
      expect(new Set(said.map(({ errorCode, error }) => `${errorCode} ${error.type} ${error.message}`)).size).toBe(1);
      const groups = said.map(({ errorCode, error }) => fingerprintOf({ errorCode, error } as never).fingerprint);
      expect(new Set(groups).size).toBe(1);
    });

    test("a timeout, a service's own error around it, a status that its message leaves out, and no cause at all", async () => {
      const late = await given(() => new Promise(() => undefined), { maxAttempts: 1, attemptTimeoutMs: 20 });
      expect(event(late)).toMatchObject({ errorCode: "TIMEOUT", error: { type: "TimeoutError" } });
      class PriceError extends Error {}
      const own = event(new PriceError("no price", { cause: await given(() => answer(503)) }));
      expect(own).toMatchObject({ errorCode: "UPSTREAM_5XX", error: { type: "PriceError", message: "no price" } });
      const silent = event(Object.assign(new Error("refused by stock"), { code: "HTTP_409", status: 409 }));
      expect(silent).toMatchObject({ errorCode: "UPSTREAM_4XX", error: { message: "refused by stock (HTTP 409)" } });
      const target = createTarget({ maxAttempts: 1, breaker: GUARDS.breaker });
      target.force("open");
      const refused = await execute(target, () => answer(200)).catch((error: unknown) => error);
      const alone = event(refused);
      expect(alone).toMatchObject({ errorCode: "BREAKER_OPEN", error: { type: "OperationError" } });
      expect(alone.tags).toBeUndefined();
    });
  });

  test("a hostile error is described as far as it can be read", () => {
    const cyclic = new Error("round");
    cyclic.cause = cyclic;
    expect(event(cyclic).error.message).toBe("round");
    const trap = {
      get message() {
        throw new Error("trap");
      },
      toString: () => {
        throw new Error("trap");
      },
    };
    expect(event(trap).error.message).toBe("an error without a text");
    expect(event(undefined).error.message).toBe("undefined");
    expect(event(new Error("nul\0 half\ud800 ".repeat(9_000))).error.message).toMatch(/^nul\u2400 half\ufffd/);
    expect(event(new Error("x".repeat(200_000))).error.message).toHaveLength(8_192);
  });

  test("attempts and trace of the error and the headers", () => {
    const headers = {
      traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
      raw: new Uint8Array([255]),
      none: null,
    };
    const reported = event(Object.assign(new Error(), { outcome: { attempts: 4 } }), { headers });
    expect(reported).toMatchObject({ attempts: 4, traceId: "4bf92f3577b34da6a3ce929d0e0e4736", failedAt: at.nowMs });
    expect(reported.headers).toEqual([
      ["traceparent", headers.traceparent],
      ["raw", "/w==", "bytes"],
      ["none", null],
    ]);
    expect(event(new Error(), { attempts: 7, traceId: "t" })).toMatchObject({ attempts: 7, traceId: "t" });
  });
});

describe("the payload", () => {
  test("bytes and text go as they are, anything else as JSON", () => {
    expect(event(1, { payload: new Uint8Array([0, 255]) })).toMatchObject({ payloadBase64: "AP8=" });
    expect(event(1, { payload: "\u20ac" })).toMatchObject({
      payloadBase64: "4oKs",
      contentType: "text/plain; charset=utf-8",
    });
    expect(event(1, { payload: null })).toMatchObject({ payload: null });
    expect(() => parkEvent(1, { payload: undefined }, at)).toThrow(/payload is undefined/);
  });

  test("without an id the same message has the same id, another one has another", () => {
    const id = (payload: unknown, eventType?: string) => parkEvent(1, { payload, eventType }, at).eventId;
    expect(id({ n: 1 })).toMatch(/^sha256-[0-9a-f]{64}$/);
    expect(id({ n: 1 })).toBe(id({ n: 1 }));
    expect(new Set([id({ n: 1 }), id({ n: 2 }), id({ n: 1 }, "paid")]).size).toBe(3);
  });
});
