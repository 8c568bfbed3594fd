import { describe, expect, test } from "vitest";
import { EnvError } from "@/lib/platform/env-error";
import { readEnv } from "./env";

const DATABASE_URL = "postgres://u:hunter2@127.0.0.1:5432/parkade";

describe("the environment", () => {
  test("has defaults for all but the store", () => {
    expect(readEnv({ DATABASE_URL })).toMatchObject({
      databaseUrl: DATABASE_URL,
      redisUrl: null,
      port: 3000,
      payloadBytesMax: 1024 * 1024,
      headersMax: 200,
    });
  });

  test("takes what is set, and an empty variable as unset", () => {
    const env = readEnv({
      DATABASE_URL,
      REDIS_URL: "",
      PORT: "4100",
      PARKADE_PAYLOAD_BYTES_MAX: "5000",
      PARKADE_LOG_LEVEL: "",
    });
    expect(env).toMatchObject({ redisUrl: null, port: 4100, payloadBytesMax: 5000, logLevel: "info" });
    expect(readEnv({ DATABASE_URL, PARKADE_ALLOWED_HOSTS: "A.example, b" }).allowedHosts).toEqual(
      new Set(["a.example", "b"]),
    );
  });

  test("has no archive unless one is named, and both halves of its key or none", () => {
    expect(readEnv({ DATABASE_URL, PARKADE_ARCHIVE: "" })).toMatchObject({ archive: null, archiveKeys: null });
    const keys = { PARKADE_SECRET_ARCHIVE_KEY_ID: "id-7", PARKADE_SECRET_ARCHIVE_KEY: "hunter2" };
    expect(readEnv({ DATABASE_URL, PARKADE_ARCHIVE: "s3://bucket/prefix?region=eu-north-1", ...keys })).toMatchObject({
      archive: { kind: "s3", bucket: "bucket", prefix: "prefix", region: "eu-north-1" },
      archiveKeys: { accessKeyId: "id-7", secretAccessKey: "hunter2" },
    });
    expect(() => readEnv({ DATABASE_URL, PARKADE_SECRET_ARCHIVE_KEY: "hunter2" })).toThrow(
      /^PARKADE_SECRET_ARCHIVE_KEY_ID and PARKADE_SECRET_ARCHIVE_KEY belong together/,
    );
  });

  test("stops intake below a gigabyte of a disk that is named, and at the size that a store may have", () => {
    const room = (variables: Record<string, string>) => readEnv({ DATABASE_URL, ...variables }).room;
    expect(room({})).toEqual({ disk: null, storeBytesMax: null });
    expect(room({ PARKADE_DISK_DIR: "/data" })).toEqual({
      disk: { folder: "/data", freeBytesMin: 2 ** 30 },
      storeBytesMax: null,
    });
    expect(room({ PARKADE_DISK_DIR: "/data", PARKADE_DISK_FREE_MIN: "0", PARKADE_STORE_SIZE_MAX: "1.5 TiB" })).toEqual({
      disk: null,
      storeBytesMax: 1.5 * 2 ** 40,
    });
    expect(room({ PARKADE_DISK_DIR: "/data", PARKADE_DISK_FREE_MIN: "700mb", PARKADE_STORE_SIZE_MAX: "5000" })).toEqual(
      {
        disk: { folder: "/data", freeBytesMin: 700 * 2 ** 20 },
        storeBytesMax: 5_000,
      },
    );
  });

  test("takes keys that seal the archive in base64 or hex, the own one first", () => {
    const [own, former] = [Buffer.alloc(32, 0xfb), Buffer.alloc(32, 7)];
    const keysOf = (text: string) =>
      readEnv({ DATABASE_URL, PARKADE_SECRET_ARCHIVE_ENCRYPTION_KEY: text }).archiveEncryptionKeys;
    expect(keysOf("")).toEqual([]);
    expect(keysOf(own.toString("base64"))).toEqual([own]);
    expect(keysOf(`${own.toString("hex").toUpperCase()}, ${former.toString("base64")}`)).toEqual([own, former]);
    const wrong = [
      "hunter2",
      own.toString("hex").slice(1),
      Buffer.alloc(31).toString("base64"),
      `${own.toString("hex")},`,
    ];
    for (const text of wrong) {
      expect(() => keysOf(text)).toThrow(/^PARKADE_SECRET_ARCHIVE_ENCRYPTION_KEY must be 32 random bytes/);
      expect(() => keysOf(text)).not.toThrow(text);
    }
  });

  test("traces nothing unless OpenTelemetry's own variables name an address", () => {
    const tracing = (variables: Record<string, string>) => readEnv({ DATABASE_URL, ...variables }).tracing;
    expect(tracing({})).toBeNull();
    expect(tracing({ OTEL_EXPORTER_OTLP_ENDPOINT: "" })).toBeNull();
    const OTEL_EXPORTER_OTLP_ENDPOINT = "http://collector:4318/";
    expect(tracing({ OTEL_EXPORTER_OTLP_ENDPOINT })).toEqual({
      ...{ url: "http://collector:4318/v1/traces", serviceName: null, ratio: 1, parentBased: true },
    });
    const own = "https://traces.example/ingest/";
    expect(
      tracing({
        OTEL_EXPORTER_OTLP_ENDPOINT,
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: own,
        OTEL_SERVICE_NAME: "dead-letters",
        OTEL_TRACES_SAMPLER: "parentbased_traceidratio",
        OTEL_TRACES_SAMPLER_ARG: "0.25",
      }),
    ).toEqual({ url: own, serviceName: "dead-letters", ratio: 0.25, parentBased: true });
    expect(tracing({ OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_TRACES_SAMPLER: "always_on" })).toMatchObject({
      parentBased: false,
    });
    expect(tracing({ OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_TRACES_SAMPLER: "always_off" })).toBeNull();
    expect(tracing({ OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_SDK_DISABLED: "true" })).toBeNull();
    expect(tracing({ OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_TRACES_EXPORTER: "none" })).toBeNull();
  });

  test.each([
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: "collector:hunter2" }, /^OTEL_EXPORTER_OTLP_ENDPOINT must look like http:/],
    [{ OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" }, /^OTEL_EXPORTER_OTLP_PROTOCOL must be http\/protobuf/],
    [{ OTEL_TRACES_EXPORTER: "console" }, /^OTEL_TRACES_EXPORTER must be otlp or none/],
    [{ OTEL_TRACES_SAMPLER: "parentbased_jaeger_remote" }, /^OTEL_TRACES_SAMPLER must be one of/],
    [{ OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: "2" }, /^OTEL_TRACES_SAMPLER_ARG must be/],
  ])("%j stops no process: nothing is traced, and the fault names the variable", (variables, fault) => {
    const asked = { DATABASE_URL, OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318", ...variables };
    const { tracing } = readEnv(asked);
    expect(tracing).toEqual({ fault: expect.stringMatching(fault) });
    expect(JSON.stringify(tracing)).not.toContain("hunter2");
  });

  test.each([
    [{}, /^DATABASE_URL is not set: it must look like postgres:/],
    [{ DATABASE_URL: "mysql://u:hunter2@h/d" }, /^DATABASE_URL must look like/],
    [
      { DATABASE_URL: "postgres://u:hunter2@db.example.com/d?sslmode=no-verify" },
      /^DATABASE_URL must not disable the check .*sslmode=verify-full.*PARKADE_CA_FILE/,
    ],
    [{ DATABASE_URL, REDIS_URL: "http://h" }, /^REDIS_URL must look like redis:/],
    [{ DATABASE_URL, REDIS_URL: "redis+cluster://:hunter2@a:x" }, /^REDIS_URL must look like .*redis\+cluster:/],
    [{ DATABASE_URL, PORT: "70000" }, /^PORT is "70000": it must be a whole number from 0 to 65535/],
    [{ DATABASE_URL, PARKADE_HEADERS_MAX: "many" }, /^PARKADE_HEADERS_MAX is "many"/],
    [
      { DATABASE_URL, PARKADE_AUDIT_ANCHORS: "https://siem.example.com/hunter2" },
      /^PARKADE_AUDIT_ANCHORS must look like file:/,
    ],
    [
      { DATABASE_URL, PARKADE_AUDIT_ANCHORS: "file:///srv/hunter2 file:///srv/hunter2/" },
      /^PARKADE_AUDIT_ANCHORS names the same place twice/,
    ],
    [{ DATABASE_URL, PARKADE_ARCHIVE: "/srv/hunter2" }, /^PARKADE_ARCHIVE must look like file:/],
    [{ DATABASE_URL, PARKADE_ARCHIVE: "s3://id:hunter2@bucket" }, /^PARKADE_ARCHIVE must not contain credentials/],
    [
      { DATABASE_URL, PARKADE_DISK_FREE_MIN: "10%" },
      /^PARKADE_DISK_FREE_MIN is "10%": it must be a size such as 500MiB/,
    ],
    [{ DATABASE_URL, PARKADE_STORE_SIZE_MAX: "-1" }, /^PARKADE_STORE_SIZE_MAX is "-1": it must be a size such as/],
    [
      { DATABASE_URL, PARKADE_PASSWORD_SIGN_IN: "off" },
      /^PARKADE_PASSWORD_SIGN_IN is "off", and no OpenID provider is set: .* set PARKADE_OIDC_ISSUER/,
    ],
    [{ DATABASE_URL, PARKADE_PASSWORD_SIGN_IN: "no" }, /^PARKADE_PASSWORD_SIGN_IN is "no": it must be on or off/],
    [
      { DATABASE_URL, PARKADE_OIDC_TOKENS_DAYS: "0" },
      /^PARKADE_OIDC_TOKENS_DAYS is "0": it must be a whole number from 1/,
    ],
    [{ DATABASE_URL, PARKADE_TLS_CIPHERS: "AES-none" }, /^PARKADE_TLS_CIPHERS is "AES-none": it must name suites as/],
    [
      { DATABASE_URL, PARKADE_SECOND_FACTOR: "admin,boss" },
      /^PARKADE_SECOND_FACTOR is "admin,boss": it must be own, all, or a list of roles such as approver,admin/,
    ],
    [{ DATABASE_URL, PARKADE_LOG_LEVEL: "loud" }, /^PARKADE_LOG_LEVEL is "loud": it must be one of/],
    [{ DATABASE_URL, PARKADE_PLAIN_SECRETS: "some" }, /^PARKADE_PLAIN_SECRETS is "some": it must be one of refuse/],
  ])("%j names the variable and the fix, and no secret", (source, message) => {
    expect(() => readEnv(source)).toThrow(EnvError);
    expect(() => readEnv(source)).toThrow(message);
    expect(() => readEnv(source)).not.toThrow(/hunter2/);
  });
});
