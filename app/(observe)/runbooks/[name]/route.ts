import { handle } from "@/app/_server/handle";
import { readRunbook } from "@/lib/observe/alerts/runbooks.read";
import { byName } from "@/lib/platform/api/query.shapes";

export const GET = handle({
  id: "readRunbook",
  summary: "The runbook for an alert, as Markdown",
  params: byName("unknown-runbook"),
  answer: { media: ["text/plain"] },
  run: async ({ params: { name } }) =>
    new Response(await readRunbook(name), { headers: { "content-type": "text/plain; charset=utf-8" } }),
});
