import { describe, expect, it } from "vitest";
import type { HttpConfig } from "@/lib/brokers/http/kind.shapes";
import type { SignedIntake } from "@/lib/brokers/http/request";
import { clockFault, signatureFault, signatureHeaders } from "@/lib/brokers/http/request-signature";
import { parseSourceConfig } from "@/lib/brokers/kinds/kinds.shapes";

/** The vector that the libraries of Standard Webhooks test their `sign` with. */
const VECTOR = {
  secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
  id: "msg_p5jXN8AQM9LWM0D4loKWxJek",
  atMs: 1_614_265_330_000,
  body: Buffer.from('{"test": 2432232314}'),
  signature: "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
};

const configOf = (config: object) => parseSourceConfig("http", config).config as HttpConfig;
const intakeOf = (intake: object): SignedIntake => configOf({ signedIntake: intake }).signedIntake!;
const standard = intakeOf({ scheme: "standard-webhooks", secrets: [VECTOR.secret] });

function fault(intake: SignedIntake, headers: Record<string, string>, change: { body?: Buffer; nowMs?: number } = {}) {
  return signatureFault(intake, { headers: new Headers(headers), body: VECTOR.body, nowMs: VECTOR.atMs, ...change });
}

const signed = {
  "webhook-id": VECTOR.id,
  "webhook-timestamp": "1614265330",
  "webhook-signature": VECTOR.signature,
};

describe("Standard Webhooks", () => {
  it("signs as the specification does", () => {
    const { signing } = configOf({ signing: { scheme: "standard-webhooks", secret: VECTOR.secret } });
    expect(signatureHeaders(signing!, VECTOR)).toEqual(signed);
  });

  it.each<[string, Record<string, string>, { body?: Buffer; nowMs?: number }?]>([
    ["the vector", signed],
    ["five minutes later", signed, { nowMs: VECTOR.atMs + 300_000 }],
    ["five minutes before", signed, { nowMs: VECTOR.atMs - 300_000 }],
    [
      "one right signature of several, behind another version and a wrong one",
      { ...signed, "webhook-signature": `v1a,AAAA v1,${"A".repeat(43)}= ${VECTOR.signature}` },
    ],
  ])("takes %s", (_, headers, change) => {
    expect(fault(standard, headers, change)).toBeNull();
  });

  const without = (name: string) => Object.fromEntries(Object.entries(signed).filter(([key]) => key !== name));
  it.each<[string, Record<string, string>, { body?: Buffer; nowMs?: number }?]>([
    ["no header", {}],
    ["no id", without("webhook-id")],
    ["no timestamp", without("webhook-timestamp")],
    ["no signature", without("webhook-signature")],
    [
      "an id that moves into the timestamp",
      { ...signed, "webhook-id": `${VECTOR.id}.1`, "webhook-timestamp": "614265330" },
    ],
    ["another id", { ...signed, "webhook-id": "msg_other" }],
    ["another time", { ...signed, "webhook-timestamp": "1614265331" }],
    ["a time that is no number", { ...signed, "webhook-timestamp": "1614265330x" }],
    ["a time too old", signed, { nowMs: VECTOR.atMs + 300_001 }],
    ["a time too far ahead", signed, { nowMs: VECTOR.atMs - 300_001 }],
    ["another body", signed, { body: Buffer.from('{"test": 2432232315}') }],
    ["an empty signature", { ...signed, "webhook-signature": "v1," }],
    ["a signature of another version", { ...signed, "webhook-signature": VECTOR.signature.replace("v1", "v2") }],
    ["a part of the signature", { ...signed, "webhook-signature": VECTOR.signature.slice(0, 20) }],
  ])("refuses %s", (_, headers, change) => {
    expect(fault(standard, headers, change)).not.toBeNull();
  });

  it("takes any of its secrets, so that one can take the place of another", () => {
    const old = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    const both = intakeOf({ scheme: "standard-webhooks", secrets: [old, VECTOR.secret] });
    expect(fault(both, signed)).toBeNull();
    expect(fault(intakeOf({ scheme: "standard-webhooks", secrets: [old] }), signed)).not.toBeNull();
  });

  it.each(["short", "whsec_", "not base64 at all, but long enough to be one"])("refuses the secret %j", (secret) => {
    expect(() => configOf({ signing: { scheme: "standard-webhooks", secret } })).toThrow("not valid");
    expect(() => configOf({ signedIntake: { scheme: "standard-webhooks", secrets: [secret] } })).toThrow("not valid");
  });
});

describe("hmac", () => {
  // HMAC-SHA256 of RFC 4231, test case 2.
  const key = "Jefe";
  const body = Buffer.from("what do ya want for nothing?");
  const mac = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
  const github = { scheme: "hmac", header: "X-Hub-Signature-256", prefix: "sha256=" };

  it("signs and takes the body in one header, as webhooks of GitHub do", () => {
    const { signing } = configOf({ signing: { ...github, secret: key } });
    expect(signatureHeaders(signing!, { id: "x", atMs: 0, body })).toEqual({ "X-Hub-Signature-256": `sha256=${mac}` });
    const intake = intakeOf({ ...github, secrets: [key] });
    expect(fault(intake, { "x-hub-signature-256": `sha256=${mac}` }, { body })).toBeNull();
    for (const wrong of [mac, `sha256=${mac.slice(2)}`, `sha256=${mac}00`, "sha256=", `sha256=${"0".repeat(64)}`])
      expect(fault(intake, { "x-hub-signature-256": wrong }, { body }), wrong).toBe("wrong signature");
  });

  it("covers the time when a header for it is named", () => {
    const timed = { scheme: "hmac", encoding: "base64", timestampHeader: "x-timestamp" };
    const { signing } = configOf({ signing: { ...timed, secret: key } });
    const headers = signatureHeaders(signing!, { id: "x", atMs: VECTOR.atMs, body });
    expect(headers).toMatchObject({ "x-timestamp": "1614265330", "x-signature": expect.stringMatching(/=$/) });
    const intake = intakeOf({ ...timed, secrets: ["other", key] });
    expect(fault(intake, headers, { body })).toBeNull();
    expect(fault(intake, { ...headers, "x-timestamp": "1614265331" }, { body })).toBe("wrong signature");
    expect(fault(intake, headers, { body, nowMs: VECTOR.atMs + 300_001 })).toMatch("too far");
    expect(fault(intake, { "x-signature": headers["x-signature"]! }, { body })).toBe("no timestamp");
  });
});

describe("the clock of a sender", () => {
  const answeredAt = "Thu, 25 Feb 2021 15:02:10 GMT";
  it.each([
    [0, null],
    [298_000, null],
    [-298_000, null],
    [7 * 60_000, /7 minutes ahead of Parkade's/],
    [-61 * 60_000, /61 minutes behind Parkade's/],
  ])("%d ms from the receiver's", (aheadMs, expected) => {
    const fault = clockFault(answeredAt, VECTOR.atMs + aheadMs);
    if (expected === null) expect(fault).toBeNull();
    else expect(fault).toMatch(expected);
  });

  it("is not judged by an answer without a time", () => {
    expect([clockFault(null, VECTOR.atMs), clockFault("soon", VECTOR.atMs)]).toEqual([null, null]);
  });
});
