import { deps } from "@/app/_server/deps";
import { readiness } from "@/app/_server/readiness";

/** Readiness: 200 when store, queue, migrations and a worker are fit for work, else 503 with each that is not. */
export async function GET(): Promise<Response> {
  const { ready, checks } = await readiness(deps());
  const status = ready ? 200 : 503;
  return Response.json(
    { status: ready ? "ready" : "not-ready", checks },
    { status, headers: { "cache-control": "no-store" } },
  );
}
