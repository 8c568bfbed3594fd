import { expect, it } from "vitest";
import { pressName } from "./hotkeys";

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
