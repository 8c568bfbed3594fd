import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

/** Answer with a state and no data, to an orchestrator that knows no viewer. */
const PROBES = ["app/(observe)/healthz/route.ts", "app/(observe)/readyz/route.ts", "app/_server/readiness.ts"];

/** Makes the parts of the process: what it does by itself has no viewer. */
const ROOT = "app/_server/deps.ts";

const files = (pattern: string) => globSync(pattern).filter((file) => !/\.(i?test|e2e)\.tsx?$/.test(file));
const textOf = (file: string) => readFileSync(file, "utf8");
const routes = files("app/**/route.ts").filter((file) => !PROBES.includes(file));
const pages = files("app/**/*.tsx");
const served = files("app/**/*.{ts,tsx}").filter((file) => file !== ROOT && !PROBES.includes(file));

/** Reads and use cases of capabilities: a use case has no layer in its name. */
const CAPABILITIES = "lib/{intake,events,redrive,order,repair,rules,guard,sources,observe}/**";
const LAYERS = { reads: /\.read\.ts$/, "use cases": /\/[\w-]+\.ts$/ };
type Layer = keyof typeof LAYERS;

/** Exported functions of a layer that take a store, deps or a transaction, by name, with their parameters. */
function doorsOf(layer: Layer): Map<string, string> {
  const doors = new Map<string, string>();
  for (const file of files(`${CAPABILITIES}/*.ts`).filter((path) => LAYERS[layer].test(path))) {
    for (const [, name, params] of textOf(file).matchAll(
      /^export (?:async )?function\*? ?(\w+)(?:<[^>]*>)?\(([\s\S]*?)\)(?:: |\s*\{)/gm,
    )) {
      if (/\b(db|deps|lowRate|tx)\b\s*[:}]/.test(params!)) doors.set(name!, params!);
    }
  }
  return doors;
}

/** Names that the served part of the web process imports from a layer. */
function importedFrom(layer: Layer): Set<string> {
  const names = new Set<string>();
  for (const file of served) {
    for (const [, list, from] of textOf(file).matchAll(/import \{([^}]*)\} from "@\/(lib\/[^"]+)"/g)) {
      if (!LAYERS[layer].test(`${from}.ts`)) continue;
      for (const name of list!.split(",")) names.add(name.trim().split(" as ")[0]!);
    }
  }
  return names;
}

test("there are routes, pages and doors to look at", () => {
  expect(routes.length).toBeGreaterThan(40);
  expect(pages.length).toBeGreaterThan(10);
  expect(doorsOf("reads").size).toBeGreaterThan(60);
});

test.each(routes)("%s answers through the handler that makes the viewer", (file) => {
  expect(textOf(file)).toMatch(/from "@\/app\/_server\/handle"/);
  expect(textOf(file)).not.toMatch(/_server\/deps"/);
});

test.each(pages)("%s reaches the store with a viewer only", (file) => {
  const text = textOf(file);
  expect(text).not.toMatch(/_server\/deps"/);
  if (/from "@\/lib\/[^"]*\.read"/.test(text)) expect(text).toMatch(/\b(pageCall|firstRead)\(/);
});

/** What makes a viewer of a session, a token or a link has none yet. */
const BEFORE_A_VIEWER = ["hasAccounts", "lookAtLink", "makeSetupLink", "readLiveSession", "readNameKeys", "readToken"];
BEFORE_A_VIEWER.push("startDeviceSignIn", "takeDeviceSignIn", "touchToken");

test.each(["reads", "use cases"] as const)("what the web process calls of its %s takes a viewer", (layer) => {
  const imported = importedFrom(layer);
  const doors = [...doorsOf(layer)].filter(([name]) => imported.has(name));
  expect(doors.length).toBeGreaterThan(15);
  const without = doors.filter(([, params]) => !/\bviewer: Viewer\b/.test(params)).map(([name]) => name);
  expect(without.filter((name) => !BEFORE_A_VIEWER.includes(name))).toEqual([]);
});

test("the viewer of a request is made in one place", () => {
  const makers = served.filter((file) => /\b(localViewer|systemViewer)\(/.test(textOf(file)));
  expect(makers).toEqual(["app/_server/viewer.ts"]);
});
