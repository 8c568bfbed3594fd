import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

test("docs/operate.md lists each bench", () => {
  const files = readdirSync("bench").filter((file) => /^(?!run\b).*\.ts$/.test(file));
  const benches = files.filter((file) =>
    /^export (async )?(function|const) run\b/m.test(readFileSync(`bench/${file}`, "utf8")),
  );
  const page = readFileSync("docs/operate.md", "utf8");
  const listed = [...page.matchAll(/^\| `npm run bench -- ([\w-]+)`/gm)].map(([, name]) => `${name}.ts`);
  expect(listed.sort()).toEqual(benches.sort());
});
