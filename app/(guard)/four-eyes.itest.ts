import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { parkEvents } from "@/lib/intake/park-events";
import { type TestConsole, testConsole } from "@/lib/testing/console";
import { addSource, deadLetter } from "@/lib/testing/letters";
import { addPerson, callerOf, type SignedInCall, setUpAda } from "@/lib/testing/signed-in";

/** Who asks, who wrote the rule that asks, and who approves are three accounts, and each is a person's. */

let web: TestConsole;
let ada: string;
let bob: string;
const call = callerOf(() => web);
const bearer = (secret: string): SignedInCall => ({ headers: { authorization: `Bearer ${secret}` } });

beforeAll(async () => {
  web = await testConsole({ PARKADE_SIGN_IN: "always" });
  ada = await setUpAda(web, call);
  bob = (await addPerson(call, ada, "bob", { role: "approver" })).cookie;
  await addSource(web.deps.db, "orders");
  await web.deps.db.run("update sources set needs_approval = true");
});
afterAll(() => web.close());

type Made = { account: { id: string; version: number } };
type Approval = { digest: string; state: string; cannotDecide: string | null };

async function service(name: string, rights: object) {
  const made = await call<Made>("POST accounts", { cookie: ada, body: { kind: "service", name, ...rights } });
  return { status: made.status, body: made.body, id: made.body.account?.id };
}

async function tokenOf(account: string): Promise<string> {
  const made = { cookie: ada, params: { id: account }, body: { name: "x", days: 1 } };
  return (await call<{ secret: string }>("POST accounts/{id}/tokens", made)).body.secret;
}

let serial = 0;
/** A redrive that waits for an approval. */
async function asked(by: SignedInCall): Promise<string> {
  const letter = deadLetter({ eventId: `event-${++serial}`, aggregateId: `order-${serial}` });
  await parkEvents(web.deps, [{ source: "orders", letter }], localViewer("parker"));
  const [row] = await web.deps.db.query<{ id: string }>("select id from dlq_events where event_id = $1", [
    `event-${serial}`,
  ]);
  const body = { select: { ids: [row!.id] }, mode: "deliver", lane: "main", reason: "fixed" };
  const made = await call<{ id: string; waitsFor: string[] }>("POST redrives", { ...by, body });
  expect([made.status, made.body.waitsFor], made.text).toEqual([202, ["approval"]]);
  return made.body.id;
}

async function approve(id: string, as: SignedInCall) {
  const { body } = await call<Approval>("GET approvals/{id}", { cookie: ada, params: { id } });
  const decision = { decision: "approve", digest: body.digest, reason: "looked at" };
  return call<Approval & { code: string }>("PATCH approvals/{id}", { ...as, params: { id }, body: decision });
}

describe("who asked", () => {
  test("does not approve: not by a session, not by a token, and another account does", async () => {
    const id = await asked({ cookie: ada });
    expect(await approve(id, { cookie: ada })).toMatchObject({ status: 403, body: { code: "forbidden" } });
    const own = await call<{ secret: string }>("POST tokens", { cookie: ada, body: { name: "x", days: 1 } });
    expect(await approve(id, bearer(own.body.secret))).toMatchObject({ status: 403, body: { code: "forbidden" } });
    expect((await call<Approval>("GET approvals/{id}", { cookie: ada, params: { id } })).body.cannotDecide).toMatch(
      "Ada asked",
    );
    expect(await approve(id, { cookie: bob })).toMatchObject({ status: 200, body: { state: "given" } });
  });

  test.each(["ADA", "\ufeffada", "ａｄａ", "a d a", "Ädä".normalize("NFD").replaceAll("\u0308", "")])(
    "has no second account as %j",
    async (name) => {
      const body = { kind: "person", name, role: "approver" };
      expect(await call("POST accounts", { cookie: ada, body })).toMatchObject({
        status: 409,
        body: { code: "name-taken" },
      });
    },
  );

  test("cannot say another name beside its session or token", async () => {
    const id = await asked({ cookie: ada });
    const answer = await approve(id, { cookie: ada, headers: { "x-actor": "eve" } });
    expect(answer).toMatchObject({ status: 403, body: { code: "forbidden" } });
  });
});

describe("a service", () => {
  test("is given no role and no action that is for people", async () => {
    for (const rights of [
      { role: "approver" },
      { role: "admin" },
      { role: "viewer", actions: ["approve"] },
      { role: "operator", actions: ["change-accounts"] },
    ]) {
      const { status, body } = await service(`shop-${++serial}`, rights);
      expect([rights, status, body]).toMatchObject([rights, 422, { code: "invalid-account" }]);
    }
    const made = await service("shop", { role: "operator", actions: ["ingest"] });
    expect(made.status).toBe(201);
    for (const change of [{ role: "approver" }, { actions: ["approve"] }]) {
      const sent = { cookie: ada, params: { id: made.id! }, body: { ...change, version: 1 } };
      expect(await call("PATCH accounts/{id}", sent)).toMatchObject({ status: 422, body: { code: "invalid-account" } });
    }
  });

  test("approves nothing and changes no account, whatever its row says", async () => {
    const { id: account } = await service("robot", { role: "operator" });
    const secret = await tokenOf(account!);
    await web.deps.db.run("update accounts set role = 'admin', actions = '{approve,change-accounts}' where id = $1", [
      account,
    ]);
    const { actions } = (await call<{ actions: string[] }>("GET me", bearer(secret))).body;
    expect(actions).toContain("redrive");
    expect(actions).not.toEqual(expect.arrayContaining(["approve"]));
    expect(actions).not.toEqual(expect.arrayContaining(["change-accounts"]));
    const id = await asked({ cookie: ada });
    expect(await approve(id, bearer(secret))).toMatchObject({ status: 403, body: { code: "forbidden" } });
    expect((await call("GET accounts", bearer(secret))).status).toBe(403);
    // What it asks for, a person approves.
    expect((await approve(await asked(bearer(secret)), { cookie: bob })).status).toBe(200);
  });
});
