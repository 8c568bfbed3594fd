import { expect, test } from "vitest";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { LIMIT_WINDOW_MS, RequestLimits } from "./request-limits";

const SETTINGS = { clientRequests: 4, sourceRequests: 2, clientBytes: 100 };

function refusalOf(work: () => unknown): DomainError | null {
  try {
    work();
    return null;
  } catch (error) {
    if (error instanceof DomainError) return error;
    throw error;
  }
}

test("counts down, refuses with the time to wait, and lets pass at that time", () => {
  const limits = new RequestLimits(SETTINGS);
  const startMs = LIMIT_WINDOW_MS * 7;
  for (const left of [3, 2, 1, 0]) {
    expect(limits.takeRequest("ada", startMs)).toEqual({
      "ratelimit-policy": '"client";q=4;w=10',
      ratelimit: `"client";r=${left};t=10`,
    });
  }
  const refused = refusalOf(() => limits.takeRequest("ada", startMs));
  expect(refused).toMatchObject({ code: "too-many-requests", headers: { "ratelimit-policy": '"client";q=4;w=10' } });
  const waitMs = refused!.retryAfterMs!;
  expect(refused!.headers.ratelimit).toBe(`"client";r=0;t=${Math.ceil(waitMs / 1000)}`);
  expect(refusalOf(() => limits.takeRequest("ada", startMs + waitMs - 1))).not.toBeNull();
  expect(refusalOf(() => limits.takeRequest("ada", startMs + waitMs))).toBeNull();
});

test("lets one more than the limit pass at the most around an edge, where a fixed window lets pass twice the limit", () => {
  const limits = new RequestLimits(SETTINGS);
  const edgeMs = LIMIT_WINDOW_MS * 7;
  let passed = 0;
  for (const atMs of [edgeMs - 1, edgeMs, edgeMs + 1]) {
    for (let request = 0; request < 4; request++) {
      if (refusalOf(() => limits.takeRequest("ada", atMs)) === null) passed++;
    }
  }
  expect(passed).toBeLessThanOrEqual(5);
});

test("counts each client and each source by itself", () => {
  const limits = new RequestLimits(SETTINGS);
  for (let request = 0; request < 4; request++) limits.takeRequest("ada", 0);
  expect(refusalOf(() => limits.takeRequest("ada", 0))).not.toBeNull();
  limits.takeRequest("bob", 0);
  limits.takeSource("orders", 0);
  limits.takeSource("orders", 0);
  expect(refusalOf(() => limits.takeSource("orders", 0))?.message).toContain('the source "orders"');
  limits.takeSource("billing", 0);
});

test("0 is no limit, and says nothing", () => {
  const limits = new RequestLimits({ clientRequests: 0, sourceRequests: 0, clientBytes: 0 });
  for (let request = 0; request < 1_000; request++) {
    expect(limits.takeRequest("ada", 0)).toEqual({});
    limits.takeSource("orders", 0);
    limits.holdBytes("ada", 1_000_000, 0);
  }
});

test("one large request is held, a second one of the same client is refused until the first is done", () => {
  const limits = new RequestLimits(SETTINGS);
  limits.holdBytes("ada", 60, 0);
  limits.holdBytes("ada", 90, 60);
  const refused = refusalOf(() => limits.holdBytes("ada", 10, 0));
  expect(refused).toMatchObject({
    code: "too-many-requests",
    retryAfterMs: 1_000,
    headers: { "ratelimit-policy": '"held-bytes";q=100;qu="content-bytes"', ratelimit: '"held-bytes";r=0;t=1' },
  });
  limits.holdBytes("bob", 90, 0);
  limits.holdBytes("ada", -150, 150);
  limits.holdBytes("ada", 10, 0);
});

test("a client that changes its name does not fill the memory, and a busy one is not forgotten for it", () => {
  const limits = new RequestLimits(SETTINGS);
  for (let request = 0; request < 4; request++) limits.takeRequest("ada", 0);
  for (let name = 0; name < 5_000; name++) limits.takeRequest(`name-${name}`, 1);
  expect(refusalOf(() => limits.takeRequest("ada", 2))).not.toBeNull();
  for (let name = 0; name < 30_000; name++) limits.takeRequest(`other-${name}`, 3);
  expect(limits.remembered()).toBeLessThanOrEqual(10_000);
  limits.takeRequest("ada", LIMIT_WINDOW_MS * 5);
  expect(limits.remembered()).toBe(1);
});
