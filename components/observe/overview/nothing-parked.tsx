"use client";

import { LinkButton } from "@/components/ui/button";
import { CopyButton } from "@/components/ui/copy-button";
import { TimeAgo } from "@/components/ui/time-ago";
import { useStats } from "@/lib/observe/stats/stats.browser";
import { useKinds, useSources } from "@/lib/sources/sources.browser";
import { connectCommands } from "./connect-commands";
import { outflow } from "./flow-view";

/** How far back the last event is looked for. */
const LOOK_BACK = "-30d";

/** Shown when no event is parked: since when, and for a new console the commands that connect a source. */
export function NothingParked() {
  const sources = useSources();
  const flow = useStats("flow", { from: LOOK_BACK });
  const last = flow.data?.buckets.findLast((bucket) => outflow(bucket) > 0);
  const names = sources.data?.items.map((source) => source.name) ?? [];
  return (
    <section className="mx-3 mb-3 rounded-lg border border-line px-4 py-10">
      <div className="mx-auto grid max-w-[64ch] gap-2">
        <h2 className="text-xl font-semibold">Nothing is parked</h2>
        <p className="text-muted">
          {last ? (
            <>
              The last event left <TimeAgo at={last.at} />.{" "}
            </>
          ) : null}
          {names.length === 0
            ? "No source is connected yet, so no dead letter can arrive."
            : `Dead letters from ${names.slice(0, 3).join(", ")}${names.length > 3 ? ` and ${names.length - 3} more sources` : ""} will appear here.`}
        </p>
        {sources.isSuccess ? <Connect connected={names[0] ?? null} /> : null}
      </div>
    </section>
  );
}

function Connect({ connected }: { connected: string | null }) {
  const kinds = useKinds();
  if (!kinds.data) return null;
  const byApi = kinds.data.items.find(({ capabilities }) => !capabilities.reads) ?? null;
  const commands = connectCommands(window.location.origin, connected, byApi);
  return (
    <>
      <h3 className="mt-4 font-medium">{connected === null ? "Connect a source" : "Park one by hand"}</h3>
      {commands.map((command) => (
        <Command key={command.what} {...command} />
      ))}
      <div className="mt-2 flex gap-2">
        <LinkButton href="/sources" variant={connected === null ? "primary" : "secondary"}>
          {connected === null ? "Connect a source here" : "Sources"}
        </LinkButton>
      </div>
    </>
  );
}

export function Command({ what, text }: { what: string; text: string }) {
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-1">
      <p className="flex items-center justify-between gap-2 text-muted">
        {what}
        <CopyButton text={text} label="command" />
      </p>
      <pre className="whitespace-pre-wrap wrap-anywhere rounded-md border border-line bg-canvas px-3 py-2 font-mono text-sm">
        {text}
      </pre>
    </div>
  );
}
