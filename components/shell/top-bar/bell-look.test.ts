import { expect, test } from "vitest";
import { bellLook } from "./bell-look";

test.each([
  [null, "Alerts: not known now", 0],
  [{ firing: 0, unacknowledged: 0, worst: null }, "Alerts: none fires", 0],
  [{ firing: 1, unacknowledged: 0, worst: null }, "Alerts: 1 fires, all acknowledged", 0],
  [{ firing: 3, unacknowledged: 1, worst: "critical" as const }, "Alerts: 3 fire, 1 is not acknowledged", 1],
  [{ firing: 3, unacknowledged: 2, worst: "info" as const }, "Alerts: 3 fire, 2 are not acknowledged", 2],
])("the bell of %j", (alerts, words, count) => {
  expect(bellLook(alerts)).toMatchObject({ words, count });
});
