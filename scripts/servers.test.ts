import { describe, expect, test } from "vitest";
import { assertPostgresVersion, assertRedisInfo, connectPostgres } from "./servers.ts";

describe("server versions", () => {
  test("PostgreSQL 15 will do, 14 is refused with the variable and the fix", () => {
    expect(() => assertPostgresVersion({ num: "150000", shown: "15.0" }, "(x)")).not.toThrow();
    expect(() => assertPostgresVersion({ num: "140018", shown: "14.18" }, "(x)")).toThrow(
      /DATABASE_URL .*14\.18.*upgrade/,
    );
  });

  const info = (version: string, policy = "noeviction") =>
    `# Server\r\nredis_version:${version}\r\nmaxmemory_policy:${policy}\r\n`;

  test.each(["6.2.0", "6.10.1", "7.0.15", "10.0.0"])("Redis %s will do", (version) => {
    expect(() => assertRedisInfo(info(version), "(x)")).not.toThrow();
  });

  test.each(["5.0.14", "6.0.16"])("Redis %s is refused with the variable and the fix", (version) => {
    expect(() => assertRedisInfo(info(version), "(x)")).toThrow(/REDIS_URL .*6\.2.*upgrade/);
  });

  test("a Redis that evicts is refused: it would lose queued work", () => {
    expect(() => assertRedisInfo(info("7.4.1", "allkeys-lru"), "(x)")).toThrow(
      /allkeys-lru.*CONFIG SET maxmemory-policy noeviction/,
    );
  });
});

test("a PostgreSQL elsewhere is not asked by a connection that takes any certificate", async () => {
  const attempt = connectPostgres("postgresql://someone:s3cret@db.invalid/x?sslmode=no-verify");
  await expect(attempt).rejects.toThrow(/^DATABASE_URL .*must not disable the check.*sslmode=verify-full/);
  await expect(attempt).rejects.not.toThrow(/s3cret/);
});
