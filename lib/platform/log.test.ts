import { expect, test } from "vitest";
import { createLog } from "@/lib/platform/log";

function lineOf(fields: object): Record<string, unknown> {
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  createLog({ process: "test", destination }).info(fields, "text");
  return JSON.parse(lines[0]!);
}

test("a line keeps its facts and never holds a payload, a header or a secret, also one level down", () => {
  const source = { name: "orders", config: { url: "amqp://u:p@host" } };
  const fields = { eventId: "7", password: "p", source, list: ["a"], nothing: null };
  expect(lineOf(fields)).toMatchObject({
    process: "test",
    msg: "text",
    eventId: "7",
    password: "[redacted]",
    source: { name: "orders", config: "[redacted]" },
    list: ["a"],
    nothing: null,
  });
  expect(source.config.url).toBe("amqp://u:p@host");
});

test.each(["token", "secret", "cookie", "apiKey", "privateKey", "connectionString", "secretAccessKey"])(
  "a field named %s is never written, in a line, an object or an error",
  (name) => {
    const error = Object.assign(new Error("no answer"), { [name]: "canary" });
    expect(JSON.stringify(lineOf({ [name]: "canary", source: { [name]: "canary" }, err: error }))).not.toContain(
      "canary",
    );
  },
);

test("a line break, an escape sequence or a brace in a text begins no line of its own", () => {
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  const forged = 'x"}\n{"level":"info","msg":"forged"}\r\u2028\u001b[2J';
  createLog({ process: "test", destination }).info({ eventId: forged, err: new Error(forged) }, "text");
  expect(lines).toHaveLength(1);
  for (const sign of ["\n", "\r", "\u001b"]) expect(lines[0]!.trimEnd()).not.toContain(sign);
  expect(JSON.parse(lines[0]!)).toMatchObject({ msg: "text", eventId: forged });
});

test("an error's fields are redacted, its words and stack stay", () => {
  const error = Object.assign(new Error("no answer"), { code: "X", headers: { authorization: "t" }, body: "secret" });
  for (const fields of [error, { err: error }]) {
    const { err } = lineOf(fields) as { err: Record<string, unknown> };
    expect(err).toMatchObject({ message: "no answer", code: "X", headers: "[redacted]", body: "[redacted]" });
    expect(err.stack).toContain("log.test.ts");
  }
});

test("a message that quotes its cause says the cause once", () => {
  const messageOf = (error: Error) => (lineOf({ err: error }).err as { message: string }).message;
  const cause = new Error("connect ECONNREFUSED 127.0.0.1:1");
  expect(messageOf(new Error(`no broker: ${cause.message}`, { cause }))).toBe(
    "no broker: connect ECONNREFUSED 127.0.0.1:1",
  );
  expect(messageOf(new Error("no broker", { cause }))).toBe("no broker: connect ECONNREFUSED 127.0.0.1:1");
});

test("an error under another name, and an error with a cause, give no secret away", () => {
  const error = Object.assign(new Error("no answer"), { headers: "t" });
  expect(JSON.stringify(lineOf({ error, why: { password: "p" } }))).not.toMatch(/"t"|"p"/);
});
