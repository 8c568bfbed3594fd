import { describe, expect, it } from "vitest";
import { clientOptions, namesTopic } from "@/lib/brokers/kafka/client";
import { describeKafka, kafkaCode } from "@/lib/brokers/kafka/fault";

describe("a pattern of topics", () => {
  it.each([
    ["orders.DLT", "orders.DLT", true],
    ["orders.DLT", "ordersxDLT", false],
    ["*.DLT", "orders.DLT", true],
    ["*.DLT", "orders.DLT.old", false],
    ["orders*", "orders", true],
    ["a*a", "a", false],
    ["a*b*c", "a-b-c", true],
    ["a*b*c", "acb", false],
    ["a*bb*b", "abb", false],
    ["*", "anything", true],
  ])("%s names %s: %s", (pattern, topic, named) => {
    expect(namesTopic(pattern, topic)).toBe(named);
  });
});

describe("a client's options", () => {
  const config = { bootstrap: ["kafka.example:9093"], topics: ["t"] };

  it("encrypt when asked to, or when a certificate is set", () => {
    expect(clientOptions(config, "x")).not.toHaveProperty("tls");
    expect(clientOptions({ ...config, encrypt: true }, "x")).toMatchObject({ tls: {}, tlsServerName: true });
    expect(clientOptions({ ...config, tls: { ca: "PEM", servername: "other" } }, "x")).toMatchObject({
      tls: { ca: "PEM" },
      tlsServerName: "other",
    });
    // Server names are no addresses: the broker is checked by its address then.
    expect(clientOptions({ bootstrap: ["10.0.0.1:9093"], topics: ["t"], encrypt: true }, "x").tlsServerName).toBe(
      false,
    );
  });
});

describe("an error of Kafka", () => {
  const config = {
    bootstrap: ["kafka.example:9093"],
    topics: ["t"],
    sasl: { mechanism: "PLAIN" as const, username: "app", password: "hunter2" },
  };

  it.each([
    [
      Object.assign(new AggregateError([Object.assign(new Error("x"), { apiId: "MESSAGE_TOO_LARGE" })]), {
        code: "PLT_KFK_MULTIPLE",
      }),
      "KAFKA_MESSAGE_TOO_LARGE",
    ],
    [new Error("failed", { cause: Object.assign(new Error("refused"), { code: "ECONNREFUSED" }) }), "ECONNREFUSED"],
    [
      new Error("failed", { cause: Object.assign(new Error("x"), { code: "SELF_SIGNED_CERT_IN_CHAIN" }) }),
      "SELF_SIGNED_CERT_IN_CHAIN",
    ],
    [
      Object.assign(new Error("SASL authentication failed."), { code: "PLT_KFK_AUTHENTICATION" }),
      "KAFKA_SASL_AUTHENTICATION_FAILED",
    ],
    [new Error("nobody knows"), "KAFKA_NETWORK_EXCEPTION"],
  ])("is named by its innermost cause: %#", (error, code) => {
    expect(kafkaCode(error)).toBe(code);
    expect(describeKafka(error, config)).not.toContain("hunter2");
  });
});
