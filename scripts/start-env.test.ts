import { expect, test } from "vitest";
import { parseStartEnv } from "./start-env.ts";

test("without any variable it is port 3000, .parkade and the embedded servers", () => {
  const unset = { PORT: "", PARKADE_DATA_DIR: "", DATABASE_URL: "", REDIS_URL: "" };
  for (const env of [{}, unset]) {
    expect(parseStartEnv(env, "/clone")).toEqual({
      port: 3000,
      dataDir: "/clone/.parkade",
      databaseUrl: null,
      ownerDatabaseUrl: null,
      redisUrl: null,
      archiveDir: "/clone/.parkade/archive",
    });
  }
});

test("a relative data folder lies in the clone, an absolute one where it says", () => {
  expect(parseStartEnv({ PARKADE_DATA_DIR: "other/data" }, "/clone").dataDir).toBe("/clone/other/data");
  expect(parseStartEnv({ PARKADE_DATA_DIR: "/srv/parkade" }, "/clone").dataDir).toBe("/srv/parkade");
});

test("removed events go into the data folder, but not beside a given server or where PARKADE_ARCHIVE is set", () => {
  const archiveDir = (env: Record<string, string>) => parseStartEnv(env, "/clone").archiveDir;
  expect(archiveDir({ PARKADE_DATA_DIR: "/srv/parkade" })).toBe("/srv/parkade/archive");
  expect(archiveDir({ PARKADE_ARCHIVE: "file:///srv/archive" })).toBeNull();
  expect(archiveDir({ DATABASE_URL: "postgresql://parkade@db/parkade" })).toBeNull();
});

test("a PARKADE_ARCHIVE that is none is refused with the fix, and is not repeated", () => {
  const parse = () => parseStartEnv({ PARKADE_ARCHIVE: "s3://id:hunter2@bucket" }, "/clone");
  expect(parse).toThrow(/^PARKADE_ARCHIVE must not contain credentials: set PARKADE_SECRET_ARCHIVE_KEY_ID/);
  expect(parse).not.toThrow(/hunter2/);
});

test.each(["0", "65536", "-1", "3000.5", "3e3", "http", " "])(
  "PORT=%s is refused with its name and the bounds",
  (PORT) => {
    expect(() => parseStartEnv({ PORT }, "/clone")).toThrow(/^PORT is .*1 to 65535/);
  },
);
