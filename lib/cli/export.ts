import type { Call } from "@/lib/cli/call";
import { EXIT } from "@/lib/cli/command";
import { ApiError } from "@/lib/platform/api/api-error.shapes";

export async function exportEvents({ line, api, terminal, signal }: Call): Promise<number> {
  const query = new URLSearchParams(line.filter);
  const reason = line.text("reason");
  query.set("format", line.text("format") ?? "ndjson");
  if (reason !== null) query.set("reason", reason);
  const { body } = await api.stream("api/v1/events/export", query);
  try {
    if (body) await terminal.pipe(body);
  } catch (cause) {
    if (signal.aborted || !(cause instanceof TypeError)) throw cause;
    throw new ApiError("no-answer", "The export broke off: what was written is not complete", { cause });
  }
  return EXIT.done;
}
