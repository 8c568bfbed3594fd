import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import { keys } from "@/lib/platform/browser/keys.browser";
import { VerifyProgress } from "./mend-steps";

test("a dry run of a mend that was undone is void: it offers nothing to send", () => {
  const client = new QueryClient();
  const undo = { id: "u", running: false, changed: 7 };
  client.setQueryData(keys.operations.detail("m"), { id: "m", kind: "mend", state: "DONE", changed: 7, undo });
  client.setQueryData(keys.redrives.detail("v"), {
    id: "v",
    waitsFor: [],
    mode: "verify",
    state: "DONE",
    total: 7,
    passed: 7,
  });
  const html = renderToStaticMarkup(
    <QueryClientProvider client={client}>
      <VerifyProgress id="v" mend="m" sent={false} onVerify={() => {}} onSent={() => {}} />
    </QueryClientProvider>,
  );
  expect(html).toContain("the mend has been undone");
  expect(html).not.toContain("<button");
});
