import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import { TimeRangeForm } from "./time-range-form";

test.each(["Last 24 h", "Any time"])("each window is offered once, also where no window means %s", (openLabel) => {
  const html = renderToStaticMarkup(<TimeRangeForm value={{}} openLabel={openLabel} onChange={() => {}} />);
  const labels = [...html.matchAll(/<button type="button"[^>]*>([^<]*)</g)].map(([, label]) => label);
  expect(labels[0]).toBe(openLabel);
  expect(labels).toContain("Last 24 h");
  expect(new Set(labels).size).toBe(labels.length);
});
