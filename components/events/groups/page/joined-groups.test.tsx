import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import type { GroupDetail } from "@/lib/events/groups/groups.shapes";
import { JoinedGroups } from "./joined-groups";

type Joined = GroupDetail["joined"];

const shown = (joined: Joined) =>
  renderToStaticMarkup(
    <QueryClientProvider client={new QueryClient()}>
      <JoinedGroups joined={joined} />
    </QueryClientProvider>,
  );
const item = (change: Partial<Joined["items"][number]>): Joined["items"][number] => ({
  ...{ fingerprint: "9f1c2b3a4d5e6f70", pattern: "the bank is away", reason: "merge", note: "one outage", by: "ada" },
  ...{ at: "2026-11-22T02:44:59.120Z", ...change },
});

test("a group that holds no other says nothing", () => {
  expect(shown({ total: 0, items: [] })).toBe("");
});

test("each joined group says by whom and why, and can be split off; those that are not listed are counted", () => {
  const storm = item({ fingerprint: "a", pattern: "no answer from wobeku", reason: "storm", note: null, by: "worker" });
  const html = shown({ total: 60, items: [item({}), storm] });
  expect(html).toContain("60 groups");
  expect(html).toContain("58 more are not listed");
  expect(html).toMatch(
    /the bank is away.*merged by ada.*: one outage.*no answer from wobeku.*merged automatically in a storm/,
  );
  expect(html.match(/aria-label="Split off [^"]*"/g)).toEqual([
    'aria-label="Split off the bank is away"',
    'aria-label="Split off no answer from wobeku"',
  ]);
});
