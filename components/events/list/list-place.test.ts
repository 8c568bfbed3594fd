import { beforeEach, expect, test, vi } from "vitest";

const tab = new EventTarget();
let nowMs = 0;
vi.stubGlobal("window", tab);
vi.spyOn(performance, "now").mockImplementation(() => nowMs);
const { placeToReturnTo, rememberPlace } = await import("./list-place");
const place = { scrollTop: 640, activeId: "event-7" };

beforeEach(() => rememberPlace("source=orders", place));

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
