import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import * as z from "zod/mini";
import { bulkOperationSchema } from "@/lib/events/bulk/bulk-operations.shapes";
import { keys } from "@/lib/platform/browser/keys.browser";
import { redriveSchema } from "@/lib/redrive/redrives.shapes";
import { VerifyProgress } from "./mend-steps";

const exampleOf = (schema: typeof bulkOperationSchema | typeof redriveSchema) =>
  z.globalRegistry.get(schema)!.examples as [object];

test("a dry run of a mend that was undone is void: it offers nothing to send", () => {
  const client = new QueryClient();
  const [operation] = exampleOf(bulkOperationSchema);
  const [redrive] = exampleOf(redriveSchema);
  const undo = { id: "u", running: false, changed: 7 };
  client.setQueryData(keys.operations.detail("m"), { ...operation, kind: "mend", state: "DONE", changed: 7, undo });
  client.setQueryData(keys.redrives.detail("v"), { ...redrive, mode: "verify", state: "DONE", total: 7, passed: 7 });
  const html = renderToStaticMarkup(
    <QueryClientProvider client={client}>
      <VerifyProgress id="v" mend="m" sent={false} onVerify={() => {}} onSent={() => {}} />
    </QueryClientProvider>,
  );
  expect(html).toContain("the mend has been undone");
  expect(html).not.toContain("<button");
});
