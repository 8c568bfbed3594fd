import { beforeEach, describe, expect, it, vi } from "vitest";
import {
  changesOf,
  type Draft,
  faultOf,
  forgetDraft,
  headerLines,
  isChanged,
  keepDraft,
  keptDraft,
  languageOf,
  onCurrent,
} from "./edit-draft";

const bytes = (text: string) => new TextEncoder().encode(text);
const content = (payload = '{"a":1}') => ({
  payload: bytes(payload),
  contentType: "application/json",
  headers: [["x-tenant", "north"] as [string, string]],
});
const draft = (now = {}): Draft => ({ base: 3, was: content(), now: { ...content(), ...now } });

describe("what an edit changes", () => {
  it("is nothing for equal bytes, also of another array", () => {
    expect(isChanged(draft())).toBe(false);
  });
  it("names each part that differs", () => {
    expect(changesOf(draft({ payload: bytes('{"a":1} ') }))).toEqual({
      payload: true,
      contentType: false,
      headers: false,
    });
    expect(changesOf(draft({ contentType: "text/plain" })).contentType).toBe(true);
    expect(changesOf(draft({ headers: [["x-tenant", null]] })).headers).toBe(true);
    expect(changesOf(draft({ headers: [] })).headers).toBe(true);
  });
});

it("tells headers apart that look alike", () => {
  const all = [
    headerLines([["a", "1"]]),
    headerLines([["a", null]]),
    headerLines([["a", "no value"]]),
    headerLines([["a", "1", "bytes"]]),
    headerLines([["a: b", "1"]]),
    headerLines([
      ["a", "1"],
      ["a", "1"],
    ]),
    headerLines([["a\nb", "1"]]),
  ];
  expect(new Set(all).size).toBe(all.length);
  expect(headerLines([["a", "1", "text"]])).toBe(headerLines([["a", "1"]]));
});

it("opens JSON as JSON, whatever its content type says", () => {
  expect(languageOf({ ...content("x"), contentType: "application/problem+json" })).toBe("json");
  expect(languageOf({ ...content(" [1]"), contentType: "text/plain" })).toBe("json");
  expect(languageOf({ ...content("order 77"), contentType: "text/plain" })).toBe("text");
});

it("says why it cannot be saved", () => {
  expect(faultOf(content())).toBeNull();
  expect(faultOf({ ...content(), contentType: " " })).toMatch(/content type/);
  expect(faultOf({ ...content(), headers: [["", "1"]] })).toMatch(/name/);
});

it("is nothing to save once the current revision holds it, whichever tab saved it", () => {
  const typed = draft({ payload: bytes('{"a":2}') });
  const event = (revision: number, text: string) => ({
    revision,
    headers: content().headers,
    body: {
      contentType: "application/json",
      text,
      base64: btoa(text),
      bytes: text.length,
      masked: false,
      maskedCount: 0,
      decoded: null,
    },
  });
  const saved = onCurrent(typed, event(4, '{"a":2}'));
  expect([saved.base, isChanged(saved)]).toEqual([4, false]);
  // Another person's bytes, and the revision that the edit began with, leave it as it is.
  expect(onCurrent(typed, event(4, '{"a":3}'))).toBe(typed);
  expect(onCurrent(typed, event(3, '{"a":1}'))).toBe(typed);
});

describe("an unsaved edit", () => {
  const stored = new Map<string, string>();
  const storage = {
    getItem: (key: string) => stored.get(key) ?? null,
    setItem: (key: string, value: string) => void stored.set(key, value),
    removeItem: (key: string) => void stored.delete(key),
  };
  beforeEach(() => {
    stored.clear();
    vi.stubGlobal("sessionStorage", storage);
    forgetDraft("e-1");
  });

  it("comes back with every byte, after a reload too", async () => {
    const edit = draft({ payload: new Uint8Array([0, 255, 13, 10]), headers: [["k", null]] });
    keepDraft("e-1", edit, false);
    expect(keptDraft("e-1")?.draft).toEqual(edit);
    vi.resetModules();
    const reloaded = await import("./edit-draft");
    expect(reloaded.keptDraft("e-1")?.draft).toEqual(edit);
    expect(reloaded.keptDraft("e-2")).toBeNull();
  });

  it("stays in memory when the browser refuses to store it, and never an older one", () => {
    keepDraft("e-1", draft({ contentType: "text/older" }), false);
    vi.stubGlobal("sessionStorage", {
      ...storage,
      setItem: () => {
        throw new Error("full");
      },
    });
    keepDraft("e-1", draft({ contentType: "text/newer" }), false);
    expect(keptDraft("e-1")?.draft.now.contentType).toBe("text/newer");
    expect(stored.size).toBe(0);
  });

  it("of a revealed event is in memory alone, also when an older one was stored", async () => {
    keepDraft("e-1", draft({ contentType: "text/older" }), false);
    keepDraft("e-1", draft({ contentType: "text/newer" }), true);
    expect(keptDraft("e-1")).toMatchObject({ draft: { now: { contentType: "text/newer" } }, revealed: true });
    expect(stored.size).toBe(0);
    vi.resetModules();
    expect((await import("./edit-draft")).keptDraft("e-1")).toBeNull();
  });

  it("is gone after it was saved or discarded", () => {
    keepDraft("e-1", draft({ contentType: "text/plain" }), false);
    forgetDraft("e-1");
    expect(keptDraft("e-1")).toBeNull();
    expect(stored.size).toBe(0);
  });
});
