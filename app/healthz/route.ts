/** Liveness: this process answers. Says nothing of what it depends on: restarting it would not mend that. */
export function GET(): Response {
  return Response.json({ status: "ok" }, { headers: { "cache-control": "no-store" } });
}
