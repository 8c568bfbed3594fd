import { describe, expect, it } from "vitest";
import { letterOf, redrivenEnvelope } from "@/lib/brokers/celery/envelope";
import { outboundMessage } from "@/lib/brokers/testing/outbound";
import { decodeBody } from "@/lib/events/detail/decode-body.read";
import { whyNotPlain } from "@/lib/sources/schemas/body-form.pure";

/**
 * As Celery 5.6.2 with Kombu 5.7.0 wrote them to Redis 7.0; hosts, ids and tracebacks are shortened. Each `item` is the text
 * of an item of the list.
 */
const task = (headers: string, properties: string, body: string, type = '"content-type": "application/json"') =>
  `{"body": "${body}", "content-encoding": "utf-8", ${type}, "headers": {"lang": "py", "task": "shop.charge", "id": "16b1b8d2-04ae-4322-a8d6-fcc26146c882", "shadow": null, "eta": null, "expires": null, "group": null, "group_index": null, "retries": 0, "timelimit": [null, null], "root_id": "16b1b8d2-04ae-4322-a8d6-fcc26146c882", "parent_id": null, "argsrepr": "[17]", "kwargsrepr": "{'amount': 12}", "origin": "gen5979@shop-1", "ignore_result": false, "replaced_task_nesting": 0, "stamped_headers": null, "stamps": {}${headers}}, "properties": {"correlation_id": "16b1b8d2-04ae-4322-a8d6-fcc26146c882", "reply_to": "b9a914be-b75b-3234-abfa-a82fb2438c0b", "delivery_mode": 2, "delivery_info": {"exchange": "", "routing_key": "${properties}"}, "priority": 0, "body_encoding": "base64", "delivery_tag": "9e0eaf72-00ee-4b85-b6df-33aea17399a7"}}`;

const JSON_BODY =
  "W1sxN10sIHsiYW1vdW50IjogMTJ9LCB7ImNhbGxiYWNrcyI6IG51bGwsICJlcnJiYWNrcyI6IG51bGwsICJjaGFpbiI6IG51bGwsICJjaG9yZCI6IG51bGx9XQ==";
/** Pickle, with the content type that Celery gives it. */
const PICKLED =
  "gASVRAAAAAAAAABLEYWUfZSMBmFtb3VudJRLDHN9lCiMCWNhbGxiYWNrc5ROjAhlcnJiYWNrc5ROjAVjaGFpbpROjAVjaG9yZJROdYeULg==";
const GZIPPED = "eJyLjjY0j9VRqFZKzM0vzStRslIwNKoF8ZMTc3KSEpOzi4FCeaU5OToKSqlFRWgiyRmJmXnI3PyiFCi3NhYAJc8dPg==";
const FAILURE = `, "x-tenant": "eu", "x-original-queue": "orders", "x-error-type": "builtins.ValueError", "x-error-message": "card declined", "x-error-stack": "Traceback (most recent call last):\\nValueError: card declined\\n"`;

const PROTOCOL_1 =
  '{"body": "eyJ0YXNrIjogInNob3AuY2hhcmdlIiwgImlkIjogIjExMTExMTExLTExMTEtNDExMS04MTExLTExMTExMTExMTExMSIsICJhcmdzIjogWzE3XSwgImt3YXJncyI6IHsiYW1vdW50IjogMTJ9LCAiZ3JvdXAiOiBudWxsLCAiZ3JvdXBfaW5kZXgiOiBudWxsLCAicmV0cmllcyI6IDAsICJldGEiOiBudWxsLCAiZXhwaXJlcyI6IG51bGwsICJ1dGMiOiB0cnVlLCAiY2FsbGJhY2tzIjogbnVsbCwgImVycmJhY2tzIjogbnVsbCwgInRpbWVsaW1pdCI6IFtudWxsLCBudWxsXSwgInRhc2tzZXQiOiBudWxsLCAiY2hvcmQiOiBudWxsfQ==", "content-encoding": "utf-8", "content-type": "application/json", "headers": {}, "properties": {"correlation_id": "11111111-1111-4111-8111-111111111111", "reply_to": "ad5185d3-0a94-34ea-b0ed-1af1f09bd6af", "delivery_mode": 2, "delivery_info": {"exchange": "", "routing_key": "p1"}, "priority": 0, "body_encoding": "base64", "delivery_tag": "39b71b01-feea-49e3-a30e-08e1b43618d4"}}';
/** Kombu's SimpleQueue, given back by a consumer. */
const GIVEN_BACK =
  '{"body": "eyJvcmRlciI6ICJvLTIifQ==", "content-encoding": "utf-8", "content-type": "application/json", "headers": {"redelivered": true}, "properties": {"delivery_mode": 2, "delivery_info": {"exchange": "simple2", "routing_key": "simple2", "redelivered": true}, "priority": 0, "body_encoding": "base64", "delivery_tag": "43c74ff1-ee3d-4a21-acb5-52e54833adec"}}';
/** Kombu with the transport option `body_encoding` of utf-8. */
const PLAIN_TEXT = GIVEN_BACK.replace('"eyJvcmRlciI6ICJvLTIifQ=="', '"{\\"order\\": \\"é\\"}"').replace(
  "base64",
  "utf-8",
);

const read = (item: string) => letterOf(Buffer.from(item), { queue: "orders.dlq" });

function redriven(item: string) {
  const { eventId, payload, contentType, headers, origin } = read(item);
  const message = outboundMessage({ eventId, payload, contentType, headers, origin });
  return JSON.parse(redrivenEnvelope(message).envelopeFor("orders"));
}

const CELERY = { convention: "celery", correlation: "16b1b8d2-04ae-4322-a8d6-fcc26146c882" };

describe("an envelope of Kombu", () => {
  it.each([
    [
      "a task that failed",
      task(FAILURE, "orders.dlq", JSON_BODY),
      { ...CELERY, queue: "orders", code: "VALIDATION_ERROR" },
    ],
    ["a task that was moved as it is", task("", "orders", JSON_BODY), { ...CELERY, queue: "orders", code: "UNKNOWN" }],
    [
      "a pickled task",
      task("", "orders.dlq", PICKLED, '"content-type": "application/x-python-serialize"'),
      { ...CELERY, queue: undefined, code: "UNKNOWN" },
    ],
    [
      "a compressed task",
      task(', "compression": "application/x-gzip"', "orders.dlq", GZIPPED),
      { ...CELERY, queue: undefined, code: "UNKNOWN" },
    ],
    [
      "a task of protocol 1",
      PROTOCOL_1,
      { convention: "generic", correlation: "11111111-1111-4111-8111-111111111111", queue: "p1", code: "UNKNOWN" },
    ],
  ])("reads %s", (_, item, expected) => {
    const letter = read(item);
    expect(letter).toMatchObject({
      eventId: expected.correlation,
      eventType: "shop.charge",
      errorCode: expected.code,
      origin: { convention: expected.convention },
    });
    expect(letter.origin.queue).toBe(expected.queue);
    expect(Buffer.from(letter.payload).toString("base64")).toBe(JSON.parse(item).body);
  });

  it("says that a compressed task is compressed, so that its form is not judged", async () => {
    const letter = read(task(', "compression": "application/x-gzip"', "orders.dlq", GZIPPED));
    expect(whyNotPlain(letter)).toBe("the message declares its body as gzip");
    expect((await decodeBody(letter))!.text).toMatch(/^\[\[17\], \{"amount": 12\}/);
  });

  it("reads a message of any Kombu application, named by its delivery tag", () => {
    const letter = read(GIVEN_BACK);
    expect(letter).toMatchObject({
      eventId: "orders.dlq:43c74ff1-ee3d-4a21-acb5-52e54833adec",
      eventType: null,
      origin: { convention: "generic", exchange: "simple2", routingKeys: ["simple2"] },
    });
  });

  it.each([
    ["a failed task", task(FAILURE, "orders.dlq", JSON_BODY)],
    ["a pickled task", task("", "x", PICKLED, '"content-type": "application/x-python-serialize"')],
    ["a compressed task", task(', "compression": "application/x-gzip"', "x", GZIPPED)],
    ["a task of protocol 1", PROTOCOL_1],
    ["a message that was given back", GIVEN_BACK],
    ["a body that is no base64", PLAIN_TEXT],
    ["no body", GIVEN_BACK.replace('"eyJvcmRlciI6ICJvLTIifQ=="', "null")],
    ["an empty body", GIVEN_BACK.replace("eyJvcmRlciI6ICJvLTIifQ==", "")],
    ["no content type", GIVEN_BACK.replace('"application/json"', "null")],
    [
      "headers of every type",
      task(', "x-list": [1, "a", null], "x-deep": {"a": {"b": 1.5}}, "x-odd": "\\ud800\\u0000"', "x", JSON_BODY),
    ],
  ])("writes %s as it was, but for where it goes, its tag and the marks", (_, item) => {
    const before = JSON.parse(item);
    const after = redriven(item);
    const failure = /^x-(error-|original-queue)|^redelivered$/;
    const own = Object.entries(before.headers).filter(([name]) => !failure.test(name));
    const marks = Object.keys(after.headers).filter((name) => name.startsWith("x-redrive-"));
    expect(Object.entries(after.headers).slice(0, own.length)).toEqual(own);
    const named = marks.filter((mark) => mark !== "x-redrive-origin").sort();
    expect(named).toEqual(["x-redrive-attempt", "x-redrive-event-id", "x-redrive-from", "x-redrive-id"]);
    expect(Object.keys(after.headers)).toHaveLength(own.length + marks.length);
    expect(after.properties.delivery_tag).not.toBe(before.properties.delivery_tag);
    const properties = {
      ...before.properties,
      delivery_info: { exchange: "", routing_key: "orders" },
      delivery_tag: expect.stringMatching(/^[0-9a-f-]{36}$/),
    };
    expect(after).toEqual({ ...before, headers: after.headers, properties });
  });

  it("keeps the digits of every number", () => {
    const item = task(', "x-number": 12345678901234567890, "x-price": 1.10', "orders.dlq", JSON_BODY);
    const { eventId, payload, contentType, headers, origin } = read(item.replace('"priority": 0', '"priority": 10.0'));
    const { priority, envelopeFor } = redrivenEnvelope(
      outboundMessage({ eventId, payload, contentType, headers, origin }),
    );
    expect(envelopeFor("orders")).toContain('"x-number":12345678901234567890,"x-price":1.10');
    expect(envelopeFor("orders")).toContain('"priority":10.0');
    expect(priority).toBe(9);
  });

  it("lets an expired task run, and replaces the count of its repeats", () => {
    const item = task(', "x-retry-count": 2', "orders", JSON_BODY).replace(
      '"expires": null',
      '"expires": "2020-01-01T00:00:00+00:00"',
    );
    const { payload, headers, origin } = read(item);
    const out = redrivenEnvelope(outboundMessage({ payload, headers, origin, retryCount: 4 })).envelopeFor("orders");
    expect(JSON.parse(out).headers).toMatchObject({ expires: null, "x-retry-count": "4" });
  });

  it.each([
    ["not json", "it is no JSON"],
    ["[]", "it is not a Kombu envelope"],
    ["12", "it is not a Kombu envelope"],
    ['{"body":"","headers":{}}', "it is not a Kombu envelope"],
    ['{"body":"","properties":{}}', "it has no delivery_tag"],
    ['{"body":"","headers":[],"properties":{"delivery_tag":"a"}}', "its headers are not an object"],
    ['{"body":{},"properties":{"delivery_tag":"a"}}', "its body is not text"],
    ['{"body":"a","properties":{"delivery_tag":"a","body_encoding":"base64"}}', "its body is not base64"],
    ['{"body":"a","properties":{"delivery_tag":"a","body_encoding":"rot13"}}', "its body_encoding rot13 is unknown"],
  ])("parks what is no envelope as it is: %s", (item, problem) => {
    expect(read(item)).toMatchObject({
      error: { message: `the message could not be read: ${problem}` },
      origin: { convention: "unreadable" },
      payload: Buffer.from(item),
    });
  });
});
