import { beforeEach, expect, test, vi } from "vitest";
import { rememberedReason, rememberReason } from "@/lib/guard/masking/masking.browser";
import { forgetPerson, keepInTab, keptInTab } from "./kept-in-tab.browser";

/** As the browser's: keys are members. */
class MemoryStorage {
  [key: string]: unknown;
  getItem(key: string) {
    return (this[key] as string) ?? null;
  }
  setItem(key: string, value: string) {
    this[key] = value;
  }
  removeItem(key: string) {
    delete this[key];
  }
}

beforeEach(() => {
  vi.stubGlobal("sessionStorage", new MemoryStorage());
  forgetPerson();
});

test("the next person of the tab finds neither a draft nor the reason of a reveal, and what is no person's stays", () => {
  keepInTab("draft", "e-1", "typed");
  rememberReason("ticket 7");
  sessionStorage.setItem("zone", "utc");
  expect([keptInTab("draft", "e-1"), rememberedReason()]).toEqual(["typed", "ticket 7"]);
  forgetPerson();
  expect([keptInTab("draft", "e-1"), rememberedReason()]).toEqual([null, null]);
  expect(Object.keys(sessionStorage)).toEqual(["zone"]);
});

test("an editor that keeps its text while the page of a sign-out is left keeps nothing", () => {
  forgetPerson(true);
  keepInTab("draft", "e-1", "typed");
  expect(keptInTab("draft", "e-1")).toBeNull();
});

test("a storage that is forbidden ends no sign-out", () => {
  vi.stubGlobal("sessionStorage", undefined);
  expect(() => forgetPerson(true)).not.toThrow();
});
