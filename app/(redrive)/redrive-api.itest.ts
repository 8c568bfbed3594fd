import { afterEach, beforeEach, describe, expect, test } from "vitest";
import * as settings from "@/app/(guard)/api/v1/settings/route";
import * as control from "@/app/(order)/api/v1/controls/[id]/route";
import * as controls from "@/app/(order)/api/v1/controls/route";
import * as redrive from "@/app/(redrive)/api/v1/redrives/[id]/route";
import * as redrives from "@/app/(redrive)/api/v1/redrives/route";
import * as ops from "@/app/(redrive)/ops/dlq/redrive/route";
import * as policy from "@/app/(sources)/api/v1/policies/[name]/route";
import * as target from "@/app/(sources)/api/v1/targets/[name]/route";
import { readConfirmedUrl } from "@/lib/guard/settings/settings.read";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { parkEvents } from "@/lib/intake/park-events";
import { POLICY_PRESETS } from "@/lib/retry/policy";
import { type CallOptions, type TestConsole, testConsole } from "@/lib/testing/console";
import { addSource, deadLetter } from "@/lib/testing/letters";
import { LOCAL_CALLER } from "@/lib/testing/local-caller";

let web: TestConsole;
let deps: TestConsole["deps"];

beforeEach(async () => {
  web = await testConsole();
  deps = web.deps;
  await addSource(deps.db, "orders");
});
afterEach(() => web.close());

const call = (handler: Parameters<TestConsole["call"]>[0], options: CallOptions = {}) =>
  web.call(handler, { ...options, headers: { "x-actor": "ada", ...options.headers } });

async function park(count: number): Promise<string[]> {
  const arrivals = Array.from({ length: count }, (_, index) => ({
    source: "orders",
    letter: deadLetter({
      eventId: `event-${index}`,
      aggregateId: `order-${index}`,
      errorCode: index < 2 ? "TIMEOUT" : "X",
    }),
  }));
  await parkEvents(deps, arrivals, localViewer("tester"));
  return (await deps.db.query<{ id: string }>("select id from dlq_events order by event_id")).map((row) => row.id);
}

const NOBODY = "01980000-0000-7000-8000-000000000000";
const reason = "stock is back";

describe("POST /api/v1/redrives", () => {
  test("is refused with the code and the field of its fault, and nothing is made", async () => {
    await park(1);
    const select = { filter: {} };
    for (const [body, code, field] of [
      [{ select: { ids: [] }, reason }, "invalid-request", "select"],
      [{ select: { filter: { eventId: ["none"] } }, reason }, "empty-selection", "select.filter"],
      [{ select: { ids: [NOBODY] }, reason }, "unknown-event", "select.ids"],
      [{ select, lane: "fast", reason }, "invalid-request", "lane"],
      [{ select, reason: "  " }, "invalid-request", "reason"],
      [{ select, ratePerSecond: 0, reason }, "invalid-request", "ratePerSecond"],
      [{ select, startAt: "2020-01-01T00:00:00Z", reason }, "invalid-request", "startAt"],
      [{ select, lanes: "main", reason }, "invalid-request", "lanes"],
      [{ select: { filter: { from: "now", to: "-1h" } }, reason }, "invalid-window", "from"],
    ] as const) {
      const answer = await call(redrives.POST, { body });
      expect(answer.headers.get("content-type")).toContain("application/problem+json");
      expect(answer.body).toMatchObject({ code, status: answer.status });
      expect(String(answer.status)).toMatch(/^4/);
      expect((answer.body.errors as { field: string }[]).map((entry) => entry.field).join(" ")).toContain(field);
    }
    expect(await deps.db.query("select id from redrives")).toEqual([]);
  });

  test("needs a reason from a person above the set number of events, and writes what was selected below it", async () => {
    const ids = await park(3);
    await deps.db.run("insert into settings (key, value, updated_by) values ('reasonRequiredAbove', '2', 'ada')");
    const refused = await call(redrives.POST, { body: { select: { filter: { source: ["orders"] } } } });
    expect(refused).toMatchObject({ status: 400, body: { code: "invalid-request", errors: [{ field: "reason" }] } });
    expect(await deps.db.query("select id from redrives")).toEqual([]);
    const dryRun = await call(redrives.POST, { body: { select: { filter: { source: ["orders"] } }, mode: "verify" } });
    const named = await call(redrives.POST, { body: { select: { ids: ids.slice(0, 2) } } });
    const [group] = await deps.db.query<{ code: string; fingerprint: string }>(
      "select error_code as code, fingerprint from dlq_groups",
    );
    const filter = { fingerprint: [group!.fingerprint], source: ["orders"] };
    const ofGroup = await call(redrives.POST, { body: { select: { filter }, mode: "verify" } });
    const typed = await call(redrives.POST, { body: { select: { filter: {} }, reason } });
    const reasons = await Promise.all(
      [dryRun, named, ofGroup, typed].map(async ({ body }) => {
        const read = await call(redrive.GET, { params: { id: body.id as string } });
        return read.body.reason;
      }),
    );
    expect(reasons).toEqual([
      "Dry run of all that match source:orders",
      "Redrive of 2 selected events",
      `Dry run of a group of ${group!.code} source:orders`,
      reason,
    ]);
  });

  test("gives a set above ten events a canary, when the request leaves that to it", async () => {
    const ids = await park(11);
    const of = async (count: number) => {
      const body = { select: { ids: ids.slice(0, count) }, canary: "auto", holdMs: 60_000 };
      const { id } = (await call(redrives.POST, { body })).body;
      const params = { id: id as string };
      const { canary } = (await call(redrive.GET, { params })).body;
      await call(redrive.PATCH, { method: "PATCH", body: { action: "undo" }, params });
      return canary;
    };
    expect(await of(10)).toBeNull();
    expect(await of(11)).toMatchObject({ steps: [1, 10, 100], released: 1 });
  });

  test("the same Idempotency-Key answers the same redrive; with another request it is an error", async () => {
    await park(3);
    const body = { select: { filter: {} }, lane: "main", reason };
    const headers = { "idempotency-key": '"click-1"' };
    const [first, second] = await Promise.all([
      call(redrives.POST, { body, headers }),
      call(redrives.POST, { body, headers: { "idempotency-key": "click-1" } }),
    ]);
    expect(first).toMatchObject({ status: 202, body: { total: 3, refused: 0, state: "RUNNING" } });
    expect(second.body).toEqual(first.body);
    expect(await deps.db.query("select id from redrives")).toHaveLength(1);
    const other = await call(redrives.POST, { body: { ...body, lane: "slow" }, headers });
    expect(other).toMatchObject({ status: 422, body: { code: "idempotency-key-reused" } });
  });
});

describe("PATCH /api/v1/redrives/{id}", () => {
  test("pauses, changes the rate, resumes and cancels, each audited; what is final stays so", async () => {
    await park(3);
    const { body } = await call(redrives.POST, { body: { select: { filter: {} }, reason } });
    const params = { id: body.id as string };
    const patch = (change: object) => call(redrive.PATCH, { method: "PATCH", body: change, params });
    expect((await patch({ action: "pause" })).body).toMatchObject({ state: "PAUSED", open: 3 });
    expect((await patch({ action: "pause" })).status).toBe(200);
    expect((await patch({ ratePerSecond: 2.5 })).body).toMatchObject({
      ratePerSecond: 2.5,
      effectiveRatePerSecond: 2.5,
    });
    expect((await patch({ action: "resume" })).body).toMatchObject({ state: "RUNNING" });
    expect((await patch({ action: "cancel", reason: "wrong filter" })).body).toMatchObject({
      state: "CANCELLED",
      cancelled: 3,
      open: 0,
    });
    expect(await patch({ action: "resume" })).toMatchObject({
      status: 409,
      body: {
        code: "illegal-transition",
        errors: [{ field: "action", detail: "it is CANCELLED: start a new redrive" }],
      },
    });
    expect(await patch({ action: "stop" })).toMatchObject({ body: { code: "invalid-request" } });
    for (const id of [NOBODY, "41"]) {
      const unknown = { status: 404, body: { code: "unknown-redrive" } };
      expect(await call(redrive.GET, { params: { id } })).toMatchObject(unknown);
    }
    const audited = await deps.db.query<{ action: string }>(
      "select action from audit_entries where subject_kind = 'redrive' order by id",
    );
    expect(audited.map((row) => row.action)).toEqual([
      "redrive.requested",
      "redrive.started",
      "redrive.paused",
      "redrive.rate-changed",
      "redrive.resumed",
      "redrive.cancelled",
    ]);
  });
});

describe("POST /ops/dlq/redrive", () => {
  test("redrives an aggregate with one call, and the second identical call redrives nothing twice", async () => {
    await park(3);
    const query = "?aggregateId=order-2&lane=main";
    expect(await call(ops.POST, { method: "POST", query })).toMatchObject({
      status: 202,
      body: { total: 1, refused: 0 },
    });
    expect(await call(ops.POST, { method: "POST", query })).toMatchObject({
      status: 202,
      body: { total: 1, refused: 1 },
    });
    expect(await call(ops.POST, { method: "POST" })).toMatchObject({
      body: { code: "empty-selection" },
    });
  });

  test("refuses what is not understood whole, and a body: it would redrive more", async () => {
    await park(2);
    for (const query of [
      "q=%20",
      "q=%C2%A0",
      "source=orders&q=%09",
      "source=orders&__proto__=x",
      "source=orders&lane=main&lane=slow",
    ]) {
      const asked = { method: "POST", query: `?${query}`, headers: { "x-parkade-query": query } };
      expect(await call(ops.POST, asked)).toMatchObject({
        status: 400,
        body: { code: "invalid-filter" },
      });
    }
    const body = { errorCode: "TIMEOUT" };
    expect(await call(ops.POST, { method: "POST", query: "?source=orders", body })).toMatchObject({
      status: 400,
      body: { code: "invalid-request" },
    });
    expect(await deps.db.query("select id from redrives")).toEqual([]);
  });
});

describe("controls", () => {
  test("are refused with the field of their fault", async () => {
    const eventId = { eventId: "a" };
    for (const [body, field] of [
      [{ kind: "blacklist", scope: { ...eventId, errorCode: "b" } }, "scope"],
      [{ kind: "blacklist", scope: { errorCode: "a", aggregateType: "b" } }, "scope"],
      [{ kind: "cooldown", scope: eventId }, "expiresAt"],
      [{ kind: "blacklist", scope: eventId, expiresAt: "2020-01-01T00:00:00Z" }, "expiresAt"],
      [{ kind: "greylist", scope: eventId }, "kind"],
    ] as const) {
      const answer = await call(controls.POST, { body: { ...body, reason } });
      expect(String(answer.status)).toMatch(/^4/);
      expect(JSON.stringify(answer.body.errors)).toContain(field);
    }
  });

  test("over a source that does not exist are refused, with the source that was probably meant", async () => {
    const scopes = [
      { source: "ordres" },
      { errorCode: "TIMEOUT", source: "ordres" },
      { eventId: "e-1", source: "ordres" },
    ];
    for (const scope of scopes) {
      for (const kind of ["blacklist", "cooldown", "whitelist"]) {
        const expiresAt = new Date(Date.now() + 60_000).toISOString();
        expect(await call(controls.POST, { body: { kind, scope, reason, expiresAt } })).toMatchObject({
          status: 404,
          body: {
            code: "unknown-source",
            detail: 'There is no source "ordres": is orders meant?',
            errors: [{ field: "scope.source", detail: "list sources with GET /api/v1/sources" }],
          },
        });
      }
    }
    expect((await call(controls.GET, {})).body.items).toEqual([]);
    const body = { kind: "blacklist", scope: { source: "billing" }, reason };
    expect((await call(controls.POST, { body })).body.detail).toBe('There is no source "billing"');
    expect((await call(controls.POST, { body: { ...body, scope: { source: "orders" } } })).status).toBe(201);
  });

  test("are listed with what they catch, and lifted once", async () => {
    await park(4);
    const { body } = await call(controls.POST, {
      body: { kind: "blacklist", scope: { errorCode: "TIMEOUT" }, reason },
    });
    const live = await call(controls.GET, { query: "?state=live" });
    expect(live.body.items).toEqual([
      expect.objectContaining({ id: body.id, catches: 2, createdBy: "ada", origin: "person" }),
    ]);
    const params = { id: body.id as string };
    const lifted = await call(control.DELETE, { method: "DELETE", params, body: { reason: "repaired" } });
    expect(lifted.body).toMatchObject({ liftedBy: "ada", liftReason: "repaired" });
    expect(await call(control.DELETE, { method: "DELETE", params })).toMatchObject({
      status: 404,
      body: { code: "unknown-control" },
    });
    expect((await call(controls.GET, { query: "?state=live" })).body.items).toEqual([]);
    expect((await call(controls.GET, { query: "?state=ended" })).body.items).toHaveLength(1);

    // Without a reason too: the server gives a request without a body an empty one.
    const other = await call(controls.POST, { body: { kind: "blacklist", scope: { errorCode: "E" }, reason } });
    const request = new Request("http://127.0.0.1/x", { method: "DELETE", body: "", headers: LOCAL_CALLER });
    request.headers.delete("content-type");
    const answer = await control.DELETE(request, { params: Promise.resolve({ id: other.body.id as string }) });
    expect(await answer.json()).toMatchObject({ liftedBy: "local", liftReason: "lifted" });
  });
});

describe("targets, policies and settings", () => {
  test("a target's rate and breaker are changed with a reason, audited with before and after", async () => {
    const changed = await call(target.PATCH, {
      method: "PATCH",
      params: { name: "orders.slow" },
      body: { ratePerSecond: 2, breaker: "open", reason: "stock is weak" },
    });
    expect(changed.body).toMatchObject({ name: "orders.slow", ratePerSecond: 2, breakerForce: "open" });
    const [entry] = await deps.db.query<{ before: object; after: object; reason: string }>(
      "select before, after, reason from audit_entries where subject_kind = 'target'",
    );
    expect(entry).toMatchObject({ before: { ratePerSecond: 5 }, after: { ratePerSecond: 2 }, reason: "stock is weak" });
    const unknown = await call(target.PATCH, { method: "PATCH", params: { name: "nowhere" }, body: { reason } });
    expect(unknown).toMatchObject({ status: 404, body: { code: "unknown-target" } });
  });

  test("a policy that cannot keep its deadline is refused by field, a good one becomes a version", async () => {
    const params = { name: "patient" };
    const body = { ...POLICY_PRESETS["slow-lane"], deadlineMs: 20_000 };
    const refused = await call(policy.PUT, { method: "PUT", params, body: { body, reason } });
    expect(refused.body).toMatchObject({
      code: "invalid-config",
      errors: [expect.objectContaining({ field: "body.deadlineMs" })],
    });
    const good = { ...POLICY_PRESETS["slow-lane"], maxAttempts: 3 };
    expect((await call(policy.PUT, { method: "PUT", params, body: { body: good, reason } })).body).toMatchObject({
      version: 1,
    });
    expect((await call(policy.PUT, { method: "PUT", params, body: { body: good, reason } })).body).toMatchObject({
      version: 2,
    });
    expect((await call(policy.GET, { params })).body.items).toHaveLength(2);
  });

  test("settings have bounds", async () => {
    const refused = await call(settings.PATCH, {
      method: "PATCH",
      body: { settings: { redriveLimit: 0, colour: 3 }, reason },
    });
    expect(refused.body).toMatchObject({ code: "invalid-config" });
    expect((refused.body.errors as { field: string }[]).map((entry) => entry.field)).toEqual([
      "redriveLimit",
      "colour",
    ]);
    const many = Object.fromEntries(Array.from({ length: 60_000 }, (_, n) => [`s${n}`, n]));
    expect(await call(settings.PATCH, { method: "PATCH", body: { settings: many, reason } })).toMatchObject({
      status: 400,
      body: { errors: [{ field: "settings", detail: "at most 100 settings" }] },
    });
    const changed = await call(settings.PATCH, { method: "PATCH", body: { settings: { redriveLimit: 7 }, reason } });
    expect(changed.body.items).toContainEqual(expect.objectContaining({ name: "redriveLimit", value: 7, initial: 3 }));
  });

  test("the address of confirmations is one without credentials, and can be taken away", async () => {
    const patch = (confirmedUrl: unknown) => call(settings.PATCH, { method: "PATCH", body: { confirmedUrl, reason } });
    for (const wrong of ["ftp://host/", "host", "https://u:p@host/", "https://host/?token=***", 7]) {
      const { status, body } = await patch(wrong);
      expect([status, (body.errors as { field: string }[])[0]?.field]).toEqual([
        wrong === 7 ? 400 : 422,
        "confirmedUrl",
      ]);
    }
    expect((await patch("https://orders.example/hooks")).body.confirmedUrl).toBe("https://orders.example/hooks");
    const kept = await call(settings.PATCH, { method: "PATCH", body: { settings: { redriveLimit: 7 }, reason } });
    expect(kept.body.confirmedUrl).toBe("https://orders.example/hooks");
    const token = "https://orders.example/hooks?token=s3cret-of-the-receiver";
    const masked = "https://orders.example/hooks?token=***";
    expect((await patch(token)).body.confirmedUrl).toBe(masked);
    expect((await call(settings.GET)).body.confirmedUrl).toBe(masked);
    expect(await readConfirmedUrl(deps.db)).toBe(token);
    expect((await patch(null)).body.confirmedUrl).toBeNull();
    expect((await call(settings.GET)).body.confirmedUrl).toBeNull();
    const audit = await deps.db.query("select before, after from audit_entries where action = 'setting.changed'");
    expect(JSON.stringify(audit)).toContain(masked);
    expect(JSON.stringify(audit)).not.toContain("s3cret");
  });
});
