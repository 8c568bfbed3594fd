import { expect, it } from "vitest";
import { fileName } from "./export";

it("names an export by its filter and its minute, in letters that a header takes", () => {
  const nowMs = Date.parse("2026-11-22T02:44:59Z");
  expect(fileName({}, nowMs)).toBe("events-20261122T0244Z");
  expect(fileName({ source: ["orders"], errorCode: ["TIMEOUT"], q: "stock" }, nowMs)).toBe(
    "events-orders-TIMEOUT-20261122T0244Z",
  );
  expect(fileName({ source: ['a"; x=\r\ny/../z'] }, nowMs)).toBe("events-a_x_y_.._z-20261122T0244Z");
  expect(fileName({ errorCode: ["X".repeat(500)] }, nowMs)).toHaveLength(80 + 15);
});
