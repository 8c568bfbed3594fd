import type { SourceOut } from "@/lib/contract/sources";

/** A configuration as lines to read, nested settings by their path: `redriveTo.queue`. Secrets come masked. */
export function configFacts(source: Pick<SourceOut, "config" | "payloadSchema">): { name: string; value: string }[] {
  const facts = lines(source.config, "");
  return source.payloadSchema === null
    ? facts
    : [...facts, { name: "payload schema", value: "checked before a redrive" }];
}

/** As the dialog calls them. */
const NAMES: Record<string, string> = { redriveUrl: "redrive URL", slowLaneUrl: "slow-lane URL" };

function lines(config: Record<string, unknown>, path: string): { name: string; value: string }[] {
  return Object.entries(config).flatMap(([key, value]) => {
    const name = path === "" ? (NAMES[key] ?? key) : `${path}.${key}`;
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      return lines(value as Record<string, unknown>, name);
    return [{ name, value: typeof value === "string" ? value : JSON.stringify(value) }];
  });
}
