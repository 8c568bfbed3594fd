import { expect, test } from "vitest";
import { inheritedEnv } from "./stack.ts";

test("web and worker get of the launcher's environment what they need, and what their sources may name", () => {
  const kept = {
    PATH: "/bin",
    HOME: "/root",
    TZ: "UTC",
    LC_ALL: "C",
    NODE_EXTRA_CA_CERTS: "/ca.pem",
    https_proxy: "http://proxy:3128",
    OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318",
    PARKADE_LOG_LEVEL: "debug",
    PARKADE_SECRET_ORDERS: "s3cr3t",
    PARKADE_ENV_REFERENCES: "ORDERS_TOKEN, OTHER",
    ORDERS_TOKEN: "t",
  };
  const left = {
    AWS_SECRET_ACCESS_KEY: "k",
    PGPASSWORD: "p",
    SSH_AUTH_SOCK: "/s",
    npm_config__auth: "a",
    PARKADE_OWNER_DATABASE_URL: "postgresql://owner@db/x",
    REDIS_URL: "redis://unchecked",
  };
  expect(inheritedEnv({ ...kept, ...left } as never)).toEqual(kept);
});
