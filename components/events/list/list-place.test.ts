import { afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";

const tab = new EventTarget();
let nowMs = 0;
const place = { scrollTop: 640, activeId: "event-7" };

let placeToReturnTo: typeof import("./list-place").placeToReturnTo;
let rememberPlace: typeof import("./list-place").rememberPlace;
beforeAll(async () => {
  vi.stubGlobal("window", tab);
  // The module listens on the window when it is loaded.
  vi.resetModules();
  ({ placeToReturnTo, rememberPlace } = await import("./list-place"));
});
beforeEach(() => {
  vi.spyOn(performance, "now").mockImplementation(() => nowMs);
  rememberPlace("source=orders", place);
});
afterEach(() => vi.restoreAllMocks());

test("a list that is stepped back to is where it was, however long the step takes", () => {
  tab.dispatchEvent(new Event("keydown"));
  tab.dispatchEvent(new Event("popstate"));
  nowMs += 60_000;
  expect(placeToReturnTo("source=orders")).toEqual(place);
  expect(placeToReturnTo("source=billing")).toBeNull();
});

test.each(["pointerdown", "keydown"])(
  "a list that is opened by a %s after the step begins at its newest row",
  (press) => {
    tab.dispatchEvent(new Event("popstate"));
    tab.dispatchEvent(new Event(press));
    expect(placeToReturnTo("source=orders")).toBeNull();
  },
);
