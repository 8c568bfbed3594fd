import { expect, test, vi } from "vitest";
import { sideBySide, timed } from "./steps.ts";

test("a step that fails ends the other, which is waited for, and the failure is the cause", async () => {
  const fault = new Error("no room");
  const first = async () => {
    throw fault;
  };
  let putDown = () => {};
  const held = new Promise<void>((resolve) => {
    putDown = resolve;
  });
  const second = async (signal: AbortSignal) => {
    await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    await held;
    signal.throwIfAborted();
  };
  const ended = vi.fn();
  const running = sideBySide(new AbortController().signal, [first, second]);
  void running.catch(ended);
  await new Promise(setImmediate);
  expect(ended).not.toHaveBeenCalled();
  putDown();
  await expect(running).rejects.toBe(fault);
});

test("a stop reaches both steps", async () => {
  const stop = new AbortController();
  const step = (signal: AbortSignal) =>
    new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));
  const running = sideBySide(stop.signal, [step, step]);
  stop.abort(new Error("stopped"));
  await expect(running).rejects.toThrow("stopped");
});

test("two steps resolve with what each made, and say how long they took", async () => {
  const lines: string[] = [];
  const step = () =>
    timed(
      (line) => lines.push(line),
      "Packing",
      "Packed",
      async () => 7,
    );
  expect(await sideBySide(new AbortController().signal, [step, async () => "eight"])).toEqual([7, "eight"]);
  expect(lines).toEqual(["Packing", expect.stringMatching(/^Packed \(\d+\.\d s\)$/)]);
});
