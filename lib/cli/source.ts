import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { type Call, printAnswer } from "@/lib/cli/call";
import { EXIT } from "@/lib/cli/command";
import { UsageError } from "@/lib/cli/command-line";
import { factsText, tableText } from "@/lib/cli/table";
import { formatNumber } from "@/lib/platform/plain/format.pure";
import type { SourceMode } from "@/lib/sources/source-mode.pure";
import type { ProbeOut, SourceList, SourceOut } from "@/lib/sources/sources.shapes";

const SOURCES = "api/v1/sources";
const pathOf = (name: string) => `${SOURCES}/${encodeURIComponent(name)}`;

/** All pages: an organisation has tens of sources. */
export async function readSources({ api }: Pick<Call, "api">): Promise<SourceOut[]> {
  const sources: SourceOut[] = [];
  const query = new URLSearchParams({ limit: "500" });
  for (;;) {
    const { items, nextCursor } = await api.get<SourceList>(SOURCES, query);
    sources.push(...items);
    if (nextCursor === null) return sources;
    query.set("cursor", nextCursor);
  }
}

export async function listSources(call: Call): Promise<number> {
  const sources = await readSources(call);
  await printAnswer(call, { items: sources, nextCursor: null }, () =>
    tableText(
      sources,
      [
        { title: "name", of: ({ name }) => name },
        { title: "kind", of: ({ kind }) => kind },
        { title: "mode", of: ({ mode }) => mode },
        { title: "state", of: ({ state }) => state?.state ?? null },
        { title: "lag", of: ({ state }) => state?.lag ?? null },
        { title: "parked", of: ({ parked }) => parked },
        { title: "last error", of: ({ state }) => state?.lastError ?? null },
      ],
      call.terminal.columns,
    ),
  );
  return EXIT.done;
}

export async function addSource(call: Call): Promise<number> {
  const { line, api } = call;
  const schema = line.text("schema");
  const body = {
    name: line.arguments[0],
    kind: line.text("kind"),
    config: configOf(call),
    ...(schema === null ? {} : { payloadSchema: readJson(call, "schema", schema) }),
    ...(line.text("mode") === null ? {} : { mode: line.text("mode") }),
    retryable: line.flag("retryable"),
  };
  return printSource(call, await api.change<SourceOut>(SOURCES, { method: "POST", body, key: randomUUID() }));
}

const LIMITS = ["stormPerMinute", "knownDays"] as const;

export async function setSource(call: Call): Promise<number> {
  const { line, api } = call;
  const limits = LIMITS.flatMap((name) => {
    const text = line.text(name);
    return text === null ? [] : [[name, text === "none" ? null : parsed(call, name, text)] as const];
  });
  const links = linksOf(call);
  if (limits.length === 0 && links === null)
    throw new UsageError("name --stormPerMinute, --knownDays or --link", line.command);
  const reason = line.text("reason");
  const body = {
    ...Object.fromEntries(limits),
    ...(links === null ? {} : { links }),
    ...(reason === null ? {} : { reason }),
  };
  return printSource(call, await api.change<SourceOut>(pathOf(line.arguments[0]!), { method: "PATCH", body }));
}

/** Each `--link kind:label=address`; null = none is named. */
function linksOf({ line }: Call): { kind: string; label: string; url: string }[] | null {
  const words = line.texts("link");
  if (words.length === 0) return null;
  if (words.length === 1 && words[0] === "none") return [];
  return words.map((word) => {
    const [, kind, label, url] = /^([^:=]+):([^=]+)=(.+)$/s.exec(word) ?? [];
    if (kind === undefined) throw new UsageError(`--link ${word} must be kind:label=address, or none`, line.command);
    return { kind, label: label!, url: url! };
  });
}

/** `source pause`, `drain`, `stop` and `resume`. */
export async function switchSource(call: Call, mode: SourceMode): Promise<number> {
  const { line, api } = call;
  const reason = line.text("reason");
  const body = { mode, ...(reason === null ? {} : { reason }) };
  return printSource(call, await api.change<SourceOut>(pathOf(line.arguments[0]!), { method: "PATCH", body }));
}

async function printSource(call: Call, source: SourceOut): Promise<number> {
  await printAnswer(call, source, () =>
    factsText([
      ["source", source.name],
      ["kind", source.kind],
      ["mode", source.mode],
      ["repeats", source.retryable ? "what may have arrived" : "only a send that found no target"],
      ["storm limit", source.stormPerMinute === null ? null : `${formatNumber(source.stormPerMinute)} a minute`],
      ["known for", source.knownDays === null ? "good" : `${source.knownDays} days`],
      ...source.links.map(({ kind, label, url }): [string, string] => [`${kind}: ${label}`, url]),
    ]),
  );
  return EXIT.done;
}

export async function probeSource(call: Call): Promise<number> {
  const { line, api } = call;
  const [name] = line.arguments;
  const kind = line.text("kind");
  if ((name === undefined) === (kind === null)) {
    throw new UsageError("name a source, or --kind with its configuration", line.command);
  }
  const probe = await api.change<ProbeOut>(name === undefined ? `${SOURCES}/probe` : `${pathOf(name)}/probe`, {
    method: "POST",
    body: kind === null ? {} : { kind, config: configOf(call) },
  });
  await printAnswer(call, probe, () => probeText(probe, call.terminal.columns));
  return probe.reachable ? EXIT.done : EXIT.refused;
}

function probeText({ reachable, detail, depth, sample, targets }: ProbeOut, columns: number | null): string {
  const facts = factsText([
    ["reachable", reachable ? "yes" : "no"],
    ["detail", detail],
    ["messages", depth === null ? null : formatNumber(depth)],
    ...targets.map((target): [string, string] => [
      `to ${target.name}`,
      `${target.reachable ? "reached" : "not reached"}: ${target.detail}`,
    ]),
  ]);
  if (sample.length === 0) return facts;
  const table = tableText(
    sample,
    [
      { title: "event", of: ({ eventId }) => eventId },
      { title: "error code", of: ({ errorCode }) => errorCode },
      { title: "convention", of: ({ convention }) => convention },
      { title: "bytes", of: ({ payloadBytes }) => payloadBytes },
    ],
    columns,
  );
  return `${facts}\n${table}`;
}

type Json = { [name: string]: unknown };

/** `--config`, and over it each `--set path=text` and `--set path:=json`. */
export function configOf(call: Call): Json {
  const { line } = call;
  const given = line.text("config");
  const config = given === null ? {} : readJson(call, "config", given);
  for (const word of line.texts("set")) {
    const [, path, colon, value] = /^([^=:]+)(:?)=(.*)$/s.exec(word) ?? [];
    if (path === undefined) throw new UsageError(`--set ${word} must be path=text or path:=json`, line.command);
    const names = path.split(".");
    let place = config;
    for (const name of names.slice(0, -1)) {
      if (!Object.hasOwn(place, name)) Object.defineProperty(place, name, { value: {}, ...OWN });
      place = place[name] as Json;
      if (typeof place !== "object" || place === null)
        throw new UsageError(`--set ${path}: ${name} is no object`, line.command);
    }
    Object.defineProperty(place, names.at(-1)!, { value: colon ? parsed(call, "set", value!) : value, ...OWN });
  }
  return config;
}

/** An assignment to `__proto__` would change the object and not be sent: the server must see it, and refuse it. */
const OWN = { enumerable: true, writable: true, configurable: true };

export function readJson(call: Call, option: string, text: string): Json {
  const value = parsed(call, option, text.startsWith("@") ? readText(call, option, text.slice(1)) : text);
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Json;
  throw new UsageError(`--${option} must be a JSON object`, call.line.command);
}

function readText({ line }: Call, option: string, path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new UsageError(`--${option}: ${error instanceof Error ? error.message : path}`, line.command);
  }
}

function parsed({ line }: Call, option: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new UsageError(`--${option} holds no JSON: ${error instanceof Error ? error.message : ""}`, line.command);
  }
}
