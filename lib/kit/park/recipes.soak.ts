import { execFile, spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ParkadeServer, parkadeServer } from "@/lib/kit/testing/parkade-server";
import { serve } from "@/lib/kit/testing/serve";
import { describeWith } from "@/lib/testing/describe-with";
import { addSource } from "@/lib/testing/letters";

const FOLDER = "docs/kit/recipes";
const built = mkdtempSync(join(tmpdir(), "parkade-recipes-"));

/** `prepare` runs once. */
type Recipe = {
  language: string;
  prepare?: string[];
  command: string[];
  version: string[];
  type: string | null;
  stack: RegExp | null;
  /** Absent: when PARKADE_SIGNING_SECRET is set. */
  signs?: "always" | "never";
};

const SECRET = "whsec_bmV3LW5ldy1uZXctbmV3LW5ldy1uZXc=";

/** Park.cs is not here: it is neither compiled nor run, which its page says. */
const RECIPES: Recipe[] = [
  {
    language: "curl",
    command: ["sh", `${FOLDER}/park.sh`],
    version: ["curl", "--version"],
    type: null,
    stack: null,
    signs: "never",
  },
  {
    language: "curl, signed",
    command: ["sh", `${FOLDER}/park-signed.sh`],
    version: ["openssl", "version"],
    type: null,
    stack: null,
    signs: "always",
  },
  {
    language: "Python",
    command: ["python3", `${FOLDER}/park.py`],
    version: ["python3", "--version"],
    type: "ValueError",
    stack: /KeyError: 'lines'[\s\S]*direct cause[\s\S]*ValueError: the order has no lines/,
  },
  {
    language: "Java",
    command: ["java", "-XX:TieredStopAtLevel=1", `${FOLDER}/Park.java`],
    version: ["java", "-version"],
    type: "java.lang.IllegalArgumentException",
    stack: /no lines\n\tat Park\.main[\s\S]*Caused by: java\.lang\.IllegalStateException: lines/,
  },
  {
    language: "Go",
    prepare: ["go", "build", "-o", join(built, "park"), `${FOLDER}/park.go`],
    command: [join(built, "park")],
    version: ["go", "version"],
    type: "*main.NoLines",
    stack: /goroutine 1/,
  },
];

let parkade: ParkadeServer;
beforeAll(async () => {
  parkade = await parkadeServer();
  await addSource(parkade.console.deps.db, "signed");
});
afterAll(async () => {
  await parkade.stop();
  rmSync(built, { recursive: true });
});

type With = { secret?: string; source?: string; url?: string };
function run(
  { command, type }: Recipe,
  eventId: string,
  { secret = "", source = "orders", url = parkade.url }: With = {},
): Promise<{ code: number; output: string }> {
  const [program, ...fixed] = command as [string, ...string[]];
  const given = type === null ? [eventId, "VALIDATION_ERROR", 'no "lines"\nin it'] : [];
  const env = {
    ...process.env,
    PARKADE_URL: url,
    PARKADE_SOURCE: source,
    EVENT_ID: eventId,
    PARKADE_SIGNING_SECRET: secret,
    CONTENT_TYPE: "application/json",
    no_proxy: "127.0.0.1",
  };
  return new Promise((resolve) => {
    const child = execFile(program, [...fixed, ...given], { env }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), output: stdout + stderr });
    });
    child.stdin!.end('{"orderId": 77}');
  });
}

for (const recipe of RECIPES) {
  const { language, prepare, version, type, stack, signs } = recipe;
  const secret = signs === "always" ? SECRET : "";
  const found = spawnSync(version[0]!, version.slice(1), { stdio: "ignore" }).status === 0;
  describeWith(found ? null : `${version[0]} is not installed`, `the recipe for ${language}`, () => {
    test("parks the bytes with the error, knows a repeat, and says when it could not", async () => {
      if (prepare) expect(spawnSync(prepare[0]!, prepare.slice(1)).stderr.toString()).toBe("");
      const eventId = `${language}-1`;
      expect(await run(recipe, eventId, { secret })).toMatchObject({ code: 0 });
      expect(await run(recipe, eventId, { secret })).toMatchObject({ code: 0 });
      expect((await parkade.parked()).filter((id) => id === eventId)).toHaveLength(1);
      const [row] = await parkade.console.deps.db.query<Record<string, never>>(
        `select e.error_code, e.attempts, b.payload, b.content_type, b.error_type as type, b.error_detail as stack
           from dlq_events e join dlq_event_bodies b on b.id = e.id where e.event_id = $1`,
        [eventId],
      );
      expect(row).toMatchObject({ error_code: "VALIDATION_ERROR", content_type: "application/json" });
      expect(Buffer.from(row!.payload!).toString()).toMatch(/^\{"orderId": 77\}$/);
      if (type !== null) expect(row).toMatchObject({ attempts: 3, type });
      if (stack !== null) expect(row!.stack).toMatch(stack);

      // curl repeats refused connections and answers, and no connection that was cut.
      if (type !== null) {
        // The connection of the first request is cut: it is sent again.
        const before = parkade.requests();
        parkade.before = async (nth) => {
          if (nth !== before + 1) return;
          await parkade.down();
          await parkade.up();
        };
        expect(await run(recipe, `${language}-2`)).toMatchObject({ code: 0 });
        parkade.before = () => undefined;
        expect(await parkade.parked()).toContain(`${language}-2`);
      }

      await parkade.down();
      expect((await run(recipe, `${language}-3`, { secret })).code).not.toBe(0);
      await parkade.up();
      expect(await parkade.parked()).not.toContain(`${language}-3`);
    });

    test("takes the page that a proxy leads it to for no success", async () => {
      const url = await serve((request, response) =>
        request.url === "/login" ? response.end("log in") : response.writeHead(302, { location: "/login" }).end(),
      );
      expect((await run(recipe, `${language}-5`, { secret, url })).code).not.toBe(0);
    });

    test.skipIf(signs === "never")("signs for a source that takes signed requests only", async () => {
      await parkade.takeSigned({ scheme: "standard-webhooks", secrets: [SECRET] }, "signed");
      const eventId = `${language}-4`;
      expect(
        (await run(recipe, eventId, { secret: "whsec_b2xkLW9sZC1vbGQtb2xkLW9sZC1vbGQ=", source: "signed" })).code,
      ).not.toBe(0);
      if (signs === undefined) expect((await run(recipe, eventId, { source: "signed" })).code).not.toBe(0);
      expect(await run(recipe, eventId, { secret: SECRET, source: "signed" })).toMatchObject({ code: 0 });
      expect(await parkade.parked()).toContain(eventId);
    });
  });
}

test("the page names every recipe", () => {
  const page = readFileSync("docs/kit/park.md", "utf8");
  for (const file of readdirSync(FOLDER)) expect(page).toContain(`recipes/${file}`);
});
