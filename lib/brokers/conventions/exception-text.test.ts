import { describe, expect, it } from "vitest";
import { codeOfType, deriveErrorCode } from "@/lib/brokers/conventions/error-code";
import { dotnetChain, javaChain, significant, simpleName } from "@/lib/brokers/conventions/exception-text";

describe("exception chains", () => {
  it("follows Java causes and leaves suppressed exceptions out", () => {
    const stack = [
      "java.util.concurrent.CompletionException: a.B: x",
      "\tat a.C.d(C.java:1)",
      "\tSuppressed: a.Noise: n",
      "Caused by: a.Outer$B",
      "\t... 3 more",
      "Caused by: a.Root: why: because",
    ].join("\r\n");
    expect(javaChain(stack)).toEqual([
      { type: "java.util.concurrent.CompletionException", message: "a.B: x" },
      { type: "a.Outer$B", message: "" },
      { type: "a.Root", message: "why: because" },
    ]);
    expect(significant(javaChain(stack))?.type).toBe("a.Outer$B");
  });

  it.each([
    ["one line", "System.AggregateException: many ---> A.B: inner", ["System.AggregateException", "A.B"]],
    ["several lines", "A.B: m\n ---> C.D: n\n   at X.Y()\n ---> E.F: late", ["A.B", "C.D"]],
    ["a COM code", "A.B (0x80131904): m", ["A.B"]],
    ["a generic fault", "System.ServiceModel.FaultException`1[A.B]: m", ["System.ServiceModel.FaultException`1[A.B]"]],
    ["words first", "3 unhandled exceptions\nA.B: m", ["A.B"]],
    ["no exception", "something: odd", []],
  ])("reads .NET text: %s", (_, text, types) => {
    expect(dotnetChain(text).map((link) => link.type)).toEqual(types);
  });

  it("falls back to the innermost when all are wrappers", () => {
    const chain = [
      { type: "a.ExecutionException", message: "1" },
      { type: "a.CompletionException", message: "2" },
    ];
    expect(significant(chain)?.message).toBe("2");
    expect(significant([])).toBeNull();
  });

  it.each([
    ["a.Outer$Inner", "Inner"],
    ["A.Outer+Inner", "Inner"],
    ["A.B`1[C.D]", "B"],
    ["Plain", "Plain"],
  ])("shortens %s to %s", (type, name) => expect(simpleName(type)).toBe(name));
});

describe("error codes", () => {
  it.each([
    ["org.springframework.orm.ObjectOptimisticLockingFailureException", "VERSION_CONFLICT"],
    ["Microsoft.EntityFrameworkCore.DbUpdateConcurrencyException", "VERSION_CONFLICT"],
    ["org.springframework.dao.DuplicateKeyException", "IDEMPOTENCY_CONFLICT"],
    ["com.fasterxml.jackson.core.JsonParseException", "DESERIALIZATION_ERROR"],
    ["System.Text.Json.JsonException", "DESERIALIZATION_ERROR"],
    ["org.springframework.amqp.support.converter.MessageConversionException", "DESERIALIZATION_ERROR"],
    ["java.net.SocketTimeoutException", "TIMEOUT"],
    ["System.Threading.Tasks.TaskCanceledException", "TIMEOUT"],
    ["jakarta.validation.ConstraintViolationException", "VALIDATION_ERROR"],
    ["System.ArgumentNullException", "VALIDATION_ERROR"],
    ["org.springframework.web.client.HttpServerErrorException$BadGateway", "UPSTREAM_5XX"],
    ["org.springframework.web.client.HttpClientErrorException", "UPSTREAM_4XX"],
    ["java.net.ConnectException", "CONNECTION_ERROR"],
    ["System.UnauthorizedAccessException", "ACCESS_DENIED"],
    ["java.lang.NullPointerException", "CONSUMER_BUG"],
    ["com.acme.StockGone", null],
  ])("%s -> %s", (type, code) => expect(codeOfType(type)).toBe(code));

  it("takes the first known type of the chain, then the reason, then says what it has", () => {
    expect(deriveErrorCode(["a.Strange", "java.net.ConnectException"], "rejected")).toBe("CONNECTION_ERROR");
    expect(deriveErrorCode(["a.Strange"], "rejected")).toBe("UNHANDLED_EXCEPTION");
    expect(deriveErrorCode([], "Expired")).toBe("EXPIRED");
    expect(deriveErrorCode([], "fault")).toBe("UNKNOWN");
    expect(deriveErrorCode([], null)).toBe("UNKNOWN");
  });
});
