import { expect, it } from "vitest";
import { judgePress, type KeyRun, pressName, TYPING_MS } from "./hotkeys.browser";

const press = (key: string, held: Partial<Record<"shiftKey" | "ctrlKey" | "metaKey" | "altKey", boolean>> = {}) => ({
  key,
  shiftKey: false,
  ctrlKey: false,
  metaKey: false,
  altKey: false,
  ...held,
});

it.each([
  ["j", press("j")],
  ["shift+x", press("X", { shiftKey: true })],
  ["?", press("?", { shiftKey: true })],
  ["/", press("/")],
  ["mod+k", press("k", { ctrlKey: true })],
  ["mod+k", press("k", { metaKey: true })],
  ["enter", press("Enter")],
  ["shift+enter", press("Enter", { shiftKey: true })],
  // Caps lock types capitals without shift: the letter still means its command.
  ["j", press("J")],
])("names %s", (name, given) => {
  expect(pressName(given)).toBe(name);
});

it("leaves alt combinations and bare modifiers to the browser", () => {
  expect(pressName(press("l", { altKey: true }))).toBeNull();
  expect(pressName(press("Shift", { shiftKey: true }))).toBeNull();
});

const COMMANDS = new Set(["r", "v", "i", "j", "k", "x", "a", "n", "g", " ", "enter", "?", "/"]);

/** The keys that act when these keys are pressed with this gap between them, and no key follows. */
function actedOn(keys: string[], gapMs: number): string[] {
  let run: KeyRun | null = null;
  let waiting: string | null = null;
  const acted: string[] = [];
  for (const [index, name] of keys.entries()) {
    if (waiting !== null && gapMs >= TYPING_MS) acted.push(waiting);
    const waited = waiting !== null && gapMs < TYPING_MS;
    waiting = null;
    const press = { name, atMs: 1_000 + index * gapMs, bound: COMMANDS.has(name), waiting: waited };
    const judged = judgePress(run, press);
    run = judged.run;
    if (judged.verdict === "wait") waiting = name;
    if (judged.verdict === "now" && COMMANDS.has(name)) acted.push(name);
  }
  if (waiting !== null) acted.push(waiting);
  return acted;
}

it.each(["order", "error", "retry", "verify", "ignore", "invoice 77", "river", "rv", "ri", "ir"])(
  "typing %j into nothing redrives, verifies and ignores nothing",
  (word) => {
    for (const gapMs of [30, 120, 350, TYPING_MS - 1]) {
      const acted = actedOn([...word], gapMs);
      expect(acted.filter((name) => ["r", "v", "i"].includes(name))).toEqual([]);
    }
  },
);

it.each([
  [["r"], ["r"]],
  [
    ["j", "j", "r"],
    ["j", "j", "r"],
  ],
  [
    ["a", "r"],
    ["a", "r"],
  ],
  [
    ["x", "v"],
    ["x", "v"],
  ],
])("%j are commands, however fast", (keys, acted) => {
  expect(actedOn(keys, 90)).toEqual(acted);
});

it("a letter pressed alone after a word is a command again", () => {
  expect(actedOn(["e", "r", "r"], TYPING_MS)).toEqual(["r", "r"]);
});

it("Enter at once after a letter gives the letter up", () => {
  expect(actedOn(["r", "enter"], 200)).toEqual(["enter"]);
});
