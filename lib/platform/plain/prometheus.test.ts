import { expect, test } from "vitest";
import { prometheusText } from "./prometheus.pure";

test("writes help, type and samples; escapes labels; leaves out what is unknown", () => {
  expect(
    prometheusText([
      {
        name: "dlq_size",
        help: "parked\nnow",
        type: "gauge",
        samples: [
          { labels: { source: 'a"b\\c\nd' }, value: 3 },
          { labels: { source: "x" }, value: null },
        ],
      },
      { name: "up", help: "h", type: "counter", samples: [{ value: 0.25 }] },
    ]),
  ).toBe(
    '# HELP dlq_size parked\\nnow\n# TYPE dlq_size gauge\ndlq_size{source="a\\"b\\\\c\\nd"} 3\n# HELP up h\n# TYPE up counter\nup 0.25\n',
  );
});
