import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import { type InitialList, useEventList } from "@/lib/events/events.browser";
import { keys } from "@/lib/platform/browser/keys.browser";

function List({ initial }: { initial: InitialList }) {
  useEventList({ filter: {}, sort: null }, initial);
  return null;
}

test.each([600_000, -600_000])(
  "a list of a server whose clock is %i ms ahead is older than the next poll",
  (aheadMs) => {
    const client = new QueryClient();
    const initial = {
      list: { items: [], nextCursor: null, prevCursor: null, examinedTo: null },
      readAtMs: Date.now() + aheadMs,
    };
    renderToStaticMarkup(createElement(QueryClientProvider, { client }, createElement(List, { initial })));
    expect(client.getQueryState(keys.events.list({}))?.dataUpdatedAt).toBeLessThanOrEqual(Date.now());
  },
);
