import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, posix, relative } from "node:path";
import { describe, expect, test } from "vitest";
import { EVENT_STATUSES } from "@/lib/events/event-state.pure";
import { ATTEMPT_STATES } from "@/lib/redrive/states/attempt-state.pure";
import { ITEM_STATES } from "@/lib/redrive/states/item-state.pure";
import { REDRIVE_STATES } from "@/lib/redrive/states/redrive-state.pure";

/**
 * Reads every import and holds it against the table of docs/architecture.md. A folder's entry lists what it may import
 * besides itself: folders of this project, and packages (`pkg:`), where `pkg:*` means any. `type:` allows types only.
 */
const RULES: Record<string, string[]> = {
  "lib/core": [],
  "lib/retry": [],
  "lib/kit/retry": ["lib/retry"],
  "lib/contract": ["lib/core", "type:lib/retry", "pkg:zod", "pkg:lossless-json"],
  "lib/kinds": ["lib/core", "pkg:zod"],
  "lib/platform": ["pkg:zod", "pkg:pino", "pkg:pg", "pkg:node"],
  "lib/store": [
    "lib/core",
    "lib/kinds",
    "lib/contract",
    "lib/platform",
    "pkg:pg",
    "pkg:pg-copy-streams",
    "pkg:@prisma/*",
    "pkg:node",
  ],
  "lib/lane": [
    "lib/core",
    "lib/retry",
    "lib/contract",
    "lib/platform",
    "pkg:bullmq",
    "pkg:ioredis",
    "pkg:pg",
    "pkg:zod",
  ],
  "lib/brokers": [
    "lib/core",
    "lib/kinds",
    "lib/retry",
    "lib/contract",
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
    "pkg:lossless-json",
    "type:pkg:pg",
    "pkg:protobufjs",
    "pkg:rhea",
    "pkg:undici",
    "pkg:node",
  ],
  "lib/redriving": [
    "lib/kit/outbox",
    "lib/core",
    "lib/retry",
    "lib/contract",
    "lib/platform",
    "lib/store",
    "type:lib/lane",
    "type:lib/brokers",
    "pkg:ajv",
    "pkg:ajv-formats",
    "pkg:node",
  ],
  "lib/mending": ["lib/core", "lib/contract", "lib/platform", "pkg:node"],
  "lib/operations": [
    "lib/kit/outbox",
    "lib/core",
    "lib/kinds",
    "lib/retry",
    "lib/contract",
    "lib/platform",
    "lib/store",
    "lib/redriving",
    "lib/mending",
    "type:lib/lane",
    "type:lib/brokers",
    "pkg:node",
  ],
  // Installed into other services: nothing of Parkade's own.
  "lib/kit": [
    "lib/kit/retry",
    "lib/core",
    "lib/retry",
    "lib/platform",
    "lib/brokers/conventions",
    "lib/brokers/http/request-signature",
    "pkg:node",
  ],
  // A client of the API like any other; bundled into one file without a package.
  "lib/cli": [
    "lib/core",
    "type:lib/contract",
    "lib/platform/api/api-error.shapes",
    "lib/events/filter/filter-params.shapes",
    "lib/brokers/http/request-signature",
    "lib/platform/clock",
    "package.json",
    "pkg:node",
  ],
  "lib/browser": ["lib/core", "lib/contract", "pkg:react", "pkg:@tanstack/*", "pkg:next", "pkg:sonner"],
  components: [
    "lib/core",
    "lib/contract",
    "lib/browser",
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
    "pkg:sonner",
  ],
  "app/routes.ts": ["app/api", "app/ops", "app/metrics", "app/healthz", "app/readyz", "app/_server"],
  "app/api": [
    "app/routes",
    "lib/contract",
    "lib/operations",
    "lib/store/read",
    "app/_server",
    "type:lib/store",
    "lib/core",
  ],
  "app/ops": ["lib/contract", "lib/operations", "app/_server"],
  "app/_server": [
    "lib/core",
    "lib/kinds",
    "lib/retry",
    "lib/contract",
    "lib/platform",
    "lib/store",
    "lib/lane",
    "lib/brokers",
    "lib/redriving",
    "lib/mending",
    "lib/operations",
    "pkg:ajv",
    "pkg:ajv-formats",
    "pkg:next",
    "pkg:pino",
    "pkg:zod",
    "pkg:node",
  ],
  app: [
    "components",
    "lib/contract",
    "lib/core",
    "lib/browser",
    "lib/store/read",
    "app/_server",
    "pkg:geist",
    "pkg:next",
    "pkg:react",
  ],
  workers: [
    "lib/kit/outbox",
    "lib/core",
    "lib/kinds",
    "lib/retry",
    "lib/contract",
    "lib/platform",
    "lib/store",
    "lib/lane",
    "lib/brokers",
    "lib/redriving",
    "lib/mending",
    "lib/operations",
    "pkg:node",
  ],
  // Run by Node alone, without a build.
  scripts: [
    "lib/core",
    "pkg:@playwright/*",
    "type:pkg:vitest",
    "pkg:esbuild",
    "pkg:ioredis",
    "pkg:next",
    "pkg:parkade:api-routes",
    "pkg:pg",
    "pkg:node",
  ],
  "scripts/replay-attempts.ts": ["lib/core", "lib/operations", "lib/platform", "lib/store", "scripts", "pkg:node"],
  "scripts/write-api-document.ts": ["app/routes", "app/_server", "pkg:node"],
  prisma: ["lib/core", "lib/contract", "lib/platform", "lib/store", "lib/operations", "pkg:node"],
  // From outside, over HTTP.
  e2e: ["lib/core", "lib/contract", "lib/testing", "scripts", "pkg:@playwright/*", "pkg:@axe-core/*", "pkg:node"],
  bench: [
    "lib",
    "app",
    "prisma",
    "scripts",
    "pkg:@aws-sdk/client-sqs",
    "pkg:@nats-io/jetstream",
    "pkg:@nats-io/transport-node",
    "pkg:@platformatic/kafka",
    "pkg:cockatiel",
    "pkg:pg",
    "pkg:undici",
    "pkg:node",
  ],
};

/** The kit's users have no composition root of ours: here it takes the machine's clock and chance as defaults. */
const KIT_ROOT = "lib/kit/retry/environment.ts";

const SOURCE = /\.(ts|tsx|mts)$/;
const EXEMPT = /\.(test|itest|e2e)\.tsx?$|\.conformance\.ts$|(^|\/)testing\/|lib\/store\/generated\//;
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

/** The most specific folder of the table that holds the file. */
function folderOf(path: string): string | undefined {
  return Object.keys(RULES)
    .filter((folder) => path === folder || path.startsWith(`${folder}/`))
    .sort((left, right) => right.length - left.length)[0];
}

function allowed(folder: string, { to, typeOnly }: Import): boolean {
  if (!to.startsWith("pkg:") && folderOf(to) === folder) return true;
  return RULES[folder]!.some((rule) => {
    const types = rule.startsWith("type:");
    if (types && !typeOnly) return false;
    const name = types ? rule.slice("type:".length) : rule;
    if (name === "pkg:*") return to.startsWith("pkg:");
    if (name.endsWith("/*")) return to.startsWith(name.slice(0, -1));
    return to === name || (!name.startsWith("pkg:") && to.startsWith(`${name}/`));
  });
}

const files = execFileSync(
  "git",
  ["ls-files", "-co", "--exclude-standard", "app", "bench", "components", "e2e", "lib", "prisma", "scripts", "workers"],
  {
    encoding: "utf8",
  },
)
  .split("\n")
  .filter((file) => SOURCE.test(file) && !EXEMPT.test(file) && existsSync(file));

/** A folder of more source files is two folders; its folders do not count, and tests do not. */
const FOLDER_FILES_MAX = 20;

/** Folders that list files of one kind: a reader looks for one by its name, and a room would hide it. */
const LISTS = [
  "components/ui",
  "lib/brokers/conventions",
  "lib/browser",
  "lib/cli",
  "lib/contract",
  "lib/core",
  "lib/operations",
  "lib/redriving",
  "lib/retry",
  "lib/store/read",
  "lib/store/write",
];

/** Summary, parameters, body and answer of an operation, and a few lines that run it. */
const HANDLER_LINES_MAX = 16;

describe("architecture", () => {
  test("every import follows the table", () => {
    const broken = files.flatMap((file) => {
      const folder = folderOf(file);
      if (!folder) return file.startsWith("lib/") ? [`${file} lies in no folder of the table`] : [];
      return importsOf(file)
        .filter((entry) => !allowed(folder, entry))
        .map((entry) => `${relative(".", entry.from)} imports ${entry.to}${entry.typeOnly ? " (types)" : ""}`);
    });
    expect(broken).toEqual([]);
  });

  test("the table forbids what it should", () => {
    const imports = (from: string, to: string, typeOnly = false) => allowed(folderOf(from)!, { from, to, typeOnly });
    expect(imports("lib/redrive/gate/gate.pure.ts", "pkg:zod")).toBe(false);
    expect(imports("lib/platform/database/db.ts", "lib/lane/port")).toBe(false);
    expect(imports("lib/redrive/run/run-slice.ts", "lib/lane/port")).toBe(false);
    expect(imports("lib/redrive/run/run-slice.ts", "lib/lane/port", true)).toBe(true);
    expect(imports("lib/redrive/run/run-slice.ts", "lib/redrive/plan/plan-redrive")).toBe(false);
    expect(imports("app/(events)/api/v1/events/route.ts", "lib/intake/park.write")).toBe(false);
    expect(imports("components/events/list.tsx", "lib/platform/database/db")).toBe(false);
  });

  test("decisions take time and chance as arguments", () => {
    const impure = files
      .filter((file) => /^lib\/(core|retry)\//.test(file))
      .filter((file) =>
        /\b(Date\.now|new Date\(\)|performance\.now|Math\.random|setTimeout|setInterval)\b/.test(code(file)),
      );
    expect(impure).toEqual([]);
  });

  test("only the platform's clock touches time, and only a composition root hands out chance", () => {
    const outside = files.filter(
      (file) => /^(app|lib|workers)\//.test(file) && !/^lib\/(platform|browser)\//.test(file) && file !== KIT_ROOT,
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
    const folders = /^(app|workers|lib\/(brokers|lane|operations|redriving))\//;
    expect(files.filter((file) => folders.test(file) && /\bnew Date\(/.test(code(file)))).toEqual([]);
  });

  test("a read imports no write", () => {
    const reads = files.filter((file) => file.startsWith("lib/store/read/")).flatMap(importsOf);
    const broken = reads.filter(({ to }) => to.startsWith("lib/store/write/"));
    expect(broken.map(({ from, to }) => `${from} imports ${to}`)).toEqual([]);
  });

  test("one place makes PostgreSQL pools, and one the single clients of the launcher", () => {
    const makers = files.filter(
      (file) => !file.startsWith("bench/") && /new pg\.(Pool|Client)\(|extends pg\.Pool/.test(code(file)),
    );
    expect(makers).toEqual(["lib/platform/postgres-pool.ts", "scripts/servers.ts"]);
  });

  test("routes are thin: each handler declares itself and calls one thing", () => {
    const thick = files
      .filter((file) => /^app\/(api|ops)\/.*\/route\.ts$/.test(file))
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
    const named = [...table!.split(/^## /m)[0]!.matchAll(/`([a-z/-]+\.ts)`/g)].map(([, file]) => `lib/${file}`);
    expect(named.length).toBeGreaterThan(20);
    expect(named.filter((file) => !existsSync(file))).toEqual([]);
  });

  test("no SQL but that of store/state-sql.ts names a state of an event, a redrive, an item or an attempt", () => {
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
    const LOCKS = /lockEvents\(|lockedItems\(|order by (?:i\.)?id[^;]*?for no key update/;
    /** Their callers hold the locks, and say so. */
    const LOCKED_BY_CALLER = ["moveCurrent", "ofSentRecords"];
    const found = files
      .filter((file) => /^lib\/.*\.ts$/.test(file) && !/\/testing\//.test(file))
      .flatMap((file) =>
        code(file)
          .split(/^(?=(?:export )?(?:async )?(?:function|const) )/m)
          .flatMap((part) => {
            const [, name = ""] = /^(?:export )?(?:async )?(?:function|const) (\w+)/.exec(part) ?? [];
            const change = /update (dlq_events|redrive_items) /.exec(part);
            if (change === null || LOCKED_BY_CALLER.includes(name)) return [];
            return LOCKS.test(part.slice(0, change.index)) ? [] : [`${file}: ${name}`];
          }),
      );
    expect(files).toContain("lib/redrive/plan/freeze-events.write.ts");
    expect(found).toEqual([]);
  });

  test("the contract takes one form of zod, and the browser loads none", () => {
    const forms = files
      .filter((file) => file.startsWith("lib/contract/"))
      .flatMap((file) =>
        [...readFileSync(file, "utf8").matchAll(/^import .*from "(zod[^"]*)"/gm)].map(([line]) => line),
      );
    expect([...new Set(forms)]).toEqual(['import * as z from "zod/mini"']);
    const loaded = new Set(files.filter((file) => /^(components|lib\/browser)\//.test(file)));
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

  test("a folder of components or lib holds at most 20 source files, or is a list of files of one kind", () => {
    const counts = new Map<string, number>();
    for (const file of files.filter((path) => /^(components|lib)\//.test(path))) {
      counts.set(dirname(file), (counts.get(dirname(file)) ?? 0) + 1);
    }
    const above = [...counts].filter(([, count]) => count > FOLDER_FILES_MAX).map(([folder]) => folder);
    expect(above.sort()).toEqual(LISTS);
  });

  test("no barrels and no drawers", () => {
    const barrels = files.filter((file) => /(^|\/)(index|utils?|helpers?|common|manager|service)\.tsx?$/.test(file));
    expect(barrels).toEqual([]);
  });
});

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
