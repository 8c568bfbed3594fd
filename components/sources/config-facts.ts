import type { SourceOut } from "@/lib/contract/sources";

/** A configuration as lines, nested settings by their paths: `redriveTo.queue`. The server masks secrets. */
export function configFacts(source: Pick<SourceOut, "config" | "payloadSchema">): { name: string; value: string }[] {
  const facts = lines(source.config, "");
  return source.payloadSchema === null
    ? facts
    : [...facts, { name: "payload schema", value: "checked before a redrive" }];
}

/** The same labels as in the dialog. */
const NAMES: Record<string, string> = { redriveUrl: "redrive URL", slowLaneUrl: "slow-lane URL" };

function lines(config: Record<string, unknown>, path: string): { name: string; value: string }[] {
  return Object.entries(config).flatMap(([key, value]) => {
    const name = path === "" ? (NAMES[key] ?? key) : `${path}.${key}`;
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      return lines(value as Record<string, unknown>, name);
    return [{ name, value: typeof value === "string" ? value : JSON.stringify(value) }];
  });
}
