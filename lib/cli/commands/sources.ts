import { readFileSync } from "node:fs";
import { SOURCE_MODES, type SourceMode } from "@/lib/brokers/source-mode.pure";
import { type Call, given, printAnswer, requestKey } from "@/lib/cli/call";
import { type Argument, type Command, EXIT, reasonOption, retryableOption, UsageError } from "@/lib/cli/command";
import { printTable } from "@/lib/cli/lists";
import { factsText, tableText } from "@/lib/cli/table";
import { formatNumber } from "@/lib/platform/plain/format.pure";
import type { ProbeOut, SourceList, SourceOut } from "@/lib/sources/sources.shapes";

const sourceNameArgument: Argument = { name: "name", names: "sources" };

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

async function listSources(call: Call): Promise<number> {
  const sources = await readSources(call);
  return printTable(call, { items: sources, nextCursor: null }, [
    "name",
    "kind",
    "mode",
    ["state", ({ state }) => state?.state ?? null],
    ["lag", ({ state }) => state?.lag ?? null],
    "parked",
    ["last error", ({ state }) => state?.lastError ?? null],
  ]);
}

async function addSource(call: Call): Promise<number> {
  const { line, api } = call;
  const schema = line.text("schema");
  const body = {
    name: line.arguments[0],
    kind: line.text("kind"),
    config: configOf(call),
    ...(schema === null ? {} : { payloadSchema: readJson(call, "schema", schema) }),
    ...given(call, "mode"),
    retryable: line.flag("retryable"),
  };
  return printSource(call, await api.change<SourceOut>(SOURCES, { method: "POST", body, key: requestKey(call) }));
}

const LIMITS = ["stormPerMinute", "knownDays"] as const;

async function setSource(call: Call): Promise<number> {
  const { line, api } = call;
  const limits = LIMITS.flatMap((name) => {
    const text = line.text(name);
    return text === null ? [] : [[name, text === "none" ? null : parsed(call, name, text)] as const];
  });
  const links = linksOf(call);
  if (limits.length === 0 && links === null)
    throw new UsageError("name --stormPerMinute, --knownDays or --link", line.command);
  const body = {
    ...Object.fromEntries(limits),
    links: links ?? undefined,
    ...given(call, "reason"),
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
async function switchSource(call: Call, mode: SourceMode): Promise<number> {
  const { line, api } = call;
  const body = { mode, ...given(call, "reason") };
  return printSource(call, await api.change<SourceOut>(pathOf(line.arguments[0]!), { method: "PATCH", body }));
}

async function printSource(call: Call, source: SourceOut): Promise<number> {
  return printAnswer(call, source, () =>
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
}

async function probeSource(call: Call): Promise<number> {
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
    [["event", "eventId"], ["error code", "errorCode"], "convention", ["bytes", "payloadBytes"]],
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
        throw new UsageError(`--set ${path}: ${name} is not an object`, line.command);
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
    throw new UsageError(`--${option} is not valid JSON: ${error instanceof Error ? error.message : ""}`, line.command);
  }
}

export const SOURCE_COMMANDS: readonly Command[] = [
  {
    name: "source list",
    summary: "List the sources",
    details: "Shows their kind, their mode, what the workers report, and how many events are parked.",
    examples: ["parkade source list"],
    run: listSources,
  },
  {
    name: "source add",
    summary: "Add a source",
    arguments: [{ name: "name" }],
    options: [
      { name: "kind", value: "kind", required: true, text: "Such as http or rabbitmq" },
      {
        name: "set",
        value: "path=text",
        many: true,
        text: "A field of the configuration; path:=json for other values",
      },
      { name: "config", value: "json", text: "The configuration as JSON; @file reads it from a file" },
      { name: "schema", value: "json", text: "JSON Schema that payloads must match to be redriven; or @file" },
      { name: "mode", value: "mode", values: SOURCE_MODES, text: "Initial mode; default: running" },
      retryableOption,
    ],
    details:
      "Secrets on a command line are seen by others on the machine: name a variable, `--set url=env:PARKADE_SECRET_RABBIT`, that is set for Parkade itself.",
    examples: [
      "parkade source add orders --kind http --set redriveUrl=https://orders.example/events",
      "parkade source add billing --kind rabbitmq --set url=env:PARKADE_SECRET_RABBIT --set queue=billing.dlq --set prefetch:=50",
    ],
    run: addSource,
  },
  {
    name: "source probe",
    summary: "Test whether a source can be reached, and what would be read",
    arguments: [{ ...sourceNameArgument, optional: true }],
    options: [
      { name: "kind", value: "kind", text: "Of a configuration that is not stored, in place of a name" },
      { name: "set", value: "path=text", many: true, text: "A field of that configuration, as in `source add`" },
      { name: "config", value: "json", text: "That configuration as JSON, or @file" },
    ],
    details: "Nothing is taken from the queue. The exit code is 1 when the source cannot be reached.",
    examples: [
      "parkade source probe orders",
      "parkade source probe --kind http --set redriveUrl=http://localhost:4000/",
    ],
    run: probeSource,
  },
  {
    name: "source set",
    summary: "Set a source's limits, and the links of its events to logs and traces",
    arguments: [sourceNameArgument],
    options: [
      {
        name: "stormPerMinute",
        value: "n",
        text: "Maximum events of one group that are stored per minute; none = all",
      },
      {
        name: "knownDays",
        value: "days",
        text: "Days for which repeats of a removed event are recognized; none = forever",
      },
      {
        name: "link",
        value: "kind:label=address",
        many: true,
        text: "A link of its events, kind logs, traces or other; those that are named replace all, none removes them",
      },
      reasonOption,
    ],
    details:
      "Options that are not given stay as they are. The address of a link may contain {traceId} {eventId} {aggregateId} {aggregateType} {source} {errorCode} {at} {atMs} {fromMs} {toMs}.",
    examples: [
      "parkade source set orders --stormPerMinute 1000",
      "parkade source set orders --knownDays none",
      "parkade source set orders --link 'traces:Trace=https://jaeger.example/trace/{traceId}'",
    ],
    run: setSource,
  },
  {
    name: "source pause",
    summary: "Read nothing more from a source for now",
    arguments: [sourceNameArgument],
    options: [reasonOption],
    details: "The broker keeps what is not read. Events that are parked can be redriven all the same.",
    examples: ['parkade source pause orders --reason "the broker moves"'],
    run: (call) => switchSource(call, "paused"),
  },
  {
    name: "source drain",
    summary: "Read a source until it is empty, then pause it",
    arguments: [sourceNameArgument],
    options: [reasonOption],
    details: "It returns at once; `parkade source list` shows how far it is.",
    examples: ['parkade source drain orders --reason "moved to another broker"'],
    run: (call) => switchSource(call, "draining"),
  },
  {
    name: "source stop",
    summary: "Read nothing from a source, and connect to it no more",
    arguments: [sourceNameArgument],
    options: [reasonOption],
    details: "Workers no longer report it. Its events stay.",
    examples: ["parkade source stop orders"],
    run: (call) => switchSource(call, "stopped"),
  },
  {
    name: "source resume",
    summary: "Read from a source again",
    arguments: [sourceNameArgument],
    options: [reasonOption],
    details: "The worker begins within seconds.",
    examples: ["parkade source resume orders"],
    run: (call) => switchSource(call, "running"),
  },
];
