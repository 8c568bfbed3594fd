import fc from "fast-check";
import { expect, test } from "vitest";
import { linesOf, streamResponse } from "./ndjson";

async function* chunksOf(bytes: Uint8Array, size: number) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.slice(at, at + size);
}

async function read(text: string, size: number, bytesMax = 1_000) {
  const lines: string[] = [];
  for await (const some of linesOf(chunksOf(new TextEncoder().encode(text), size), bytesMax)) {
    for (const line of some) lines.push("tooLong" in line ? "<too long>" : new TextDecoder().decode(line.bytes));
  }
  return lines;
}

test("lines are the same however the body is cut", async () => {
  const line = fc
    .string({ unit: "binary" })
    .filter((text) => !text.includes("\n") && text.trim() !== "" && text.isWellFormed());
  await fc.assert(
    fc.asyncProperty(fc.array(line), fc.integer({ min: 1, max: 40 }), fc.boolean(), async (lines, size, ended) => {
      const text = lines.join("\n") + (ended ? "\n" : "");
      expect(await read(text, size)).toEqual(lines);
    }),
  );
}, 30_000);

test("blank lines are no lines", async () => {
  expect(await read("a\n\n \t\r\nb\n\n", 3)).toEqual(["a", "b"]);
});

test("a line over the limit is passed over, its neighbours are kept", async () => {
  for (const size of [1, 7, 1_000]) {
    expect(await read(`a\n${"x".repeat(50)}\nb\n${"y".repeat(50)}`, size, 20)).toEqual([
      "a",
      "<too long>",
      "b",
      "<too long>",
    ]);
  }
});

test("a response is read only as fast as it is taken, and ends its source when nobody takes more", async () => {
  let made = 0;
  let ended = false;
  async function* source() {
    try {
      for (;;) yield String(made++);
    } finally {
      ended = true;
    }
  }
  const reader = streamResponse(source(), {}).body!.getReader();
  await reader.read();
  await reader.read();
  expect(made).toBeLessThan(6);
  await reader.cancel();
  expect(ended).toBe(true);
});
