import { type Convention, dotnetTypeName, instantMs, type Reading } from "@/lib/brokers/conventions/convention";
import { dotnetChain, significant } from "@/lib/brokers/conventions/exception-text";
import type { Message } from "@/lib/brokers/message";
import { type BasicProperties, shortText } from "@/lib/brokers/rabbitmq/basic-properties";
import type { FieldTable, FieldValue } from "@/lib/brokers/rabbitmq/field-table";
import { amqpMessage } from "@/lib/brokers/rabbitmq/message";
import { ExactNumber, isExactObject, parseExact } from "@/lib/platform/plain/exact-json.pure";
import { isJson } from "@/lib/platform/plain/json-text.pure";

type Json = Record<string, unknown>;

/** The wrapper as EasyNetQ's `Error` class serialises it, or null when the body is something else. */
function wrapperOf({ body, type }: Message): Json | null {
  if (body === null) return null;
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const declared = /\bEasyNetQ\b.*\bError\b/.test(type ?? "");
  // A cheap check before parsing: this code runs for every message of every queue.
  if (!declared && !bytes.includes('"BasicProperties"')) return null;
  let wrapper: unknown;
  try {
    wrapper = parseExact(bytes.toString("utf8").replace(/^\uFEFF/, ""));
  } catch {
    return null; // not JSON, so not a wrapper: parked as it is
  }
  const complete =
    isExactObject(wrapper) &&
    typeof wrapper.Message === "string" &&
    isExactObject(wrapper.BasicProperties) &&
    ["RoutingKey", "Exchange", "Exception"].every((key) => typeof (wrapper as Json)[key] === "string");
  return complete ? (wrapper as Json) : null;
}

const STRICT_BASE64 =
  /^(?:[A-Za-z0-9+/]{4})+(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$|^(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)$/;

/**
 * The original body. EasyNetQ writes it as UTF-8 text, or as base64 when that serializer was chosen; the wrapper does
 * not say which. Base64 is taken only when the text is not what its content type says and the decoded bytes are, or
 * when there is no such promise and the decoded bytes could not have been text at all.
 */
function innerBody(message: string, contentType: string | null): { body: Uint8Array; lossless: boolean } {
  const text = Buffer.from(message, "utf8");
  // .NET has replaced bytes that are no UTF-8 by U+FFFD: the text does not hold them any more.
  const lossless = !message.includes("\uFFFD");
  if (!STRICT_BASE64.test(message)) return { body: text, lossless };
  const decoded = Buffer.from(message, "base64");
  const json = contentType === null || /json/i.test(contentType);
  if (json) {
    const isBase64 = !isJson(message) && isJson(decoded.toString("utf8"));
    return { body: isBase64 ? decoded : text, lossless };
  }
  const textual = /^text\/|xml/i.test(contentType);
  const binary = !Buffer.from(decoded.toString("utf8"), "utf8").equals(decoded) || decoded.includes(0);
  return { body: !textual && binary ? decoded : text, lossless };
}

function fieldOf(value: unknown): FieldValue {
  if (value === null || value === undefined) return { type: "void" };
  if (typeof value === "string") return { type: "longstr", value };
  if (typeof value === "boolean") return { type: "bool", value };
  if (value instanceof ExactNumber) {
    // JSON keeps no width: .NET writes 32 bits for an int, 64 for a long.
    if (!/^-?\d+$/.test(value.digits)) return { type: "double", value: Number(value.digits) };
    const integer = BigInt(value.digits);
    if (BigInt.asIntN(32, integer) === integer) return { type: "int32", value: Number(integer) };
    if (BigInt.asIntN(64, integer) === integer) return { type: "int64", value: integer };
    return { type: "double", value: Number(value.digits) };
  }
  if (Array.isArray(value)) return { type: "array", value: value.map(fieldOf) };
  const object = value as Json;
  // Newtonsoft writes byte[] inside an object dictionary with its type; RabbitMQ's .NET client gives strings so.
  if (typeof object.$type === "string" && object.$type.startsWith("System.Byte[]") && typeof object.$value === "string")
    return { type: "longstr-bytes", value: Buffer.from(object.$value, "base64") };
  return { type: "table", value: tableOf(object) };
}

function tableOf(object: Json): FieldTable {
  return Object.entries(object).map(([name, value]) => [name, fieldOf(value)]);
}

/** Inner properties. Older versions write zero values for absent ones, with `<Name>Present: false` beside them. */
function innerProperties(json: Json): BasicProperties {
  const present = (name: string) => json[`${name}Present`] !== false;
  const text = (name: string) => {
    const value = json[name];
    return present(name) && typeof value === "string" && value !== "" ? value : undefined;
  };
  const number = (name: string) => {
    const value = json[name];
    return present(name) && value instanceof ExactNumber && /^[1-9]\d{0,18}$/.test(value.digits)
      ? BigInt(value.digits)
      : undefined;
  };
  const octet = (name: string) => {
    const value = number(name);
    return value !== undefined && value <= 255n ? Number(value) : undefined;
  };
  const headers = isExactObject(json.Headers) ? tableOf(json.Headers) : [];
  const properties: BasicProperties = {
    contentType: text("ContentType"),
    contentEncoding: text("ContentEncoding"),
    headers: headers.length === 0 ? undefined : headers,
    deliveryMode: octet("DeliveryMode"),
    priority: octet("Priority"),
    correlationId: text("CorrelationId"),
    replyTo: text("ReplyTo"),
    expiration: text("Expiration"),
    messageId: text("MessageId"),
    timestamp: number("Timestamp"),
    type: text("Type"),
    userId: text("UserId"),
    appId: text("AppId"),
  };
  return Object.fromEntries(Object.entries(properties).filter(([, value]) => value !== undefined));
}

function nonEmpty(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

function read(view: Message): Reading | null {
  const wrapper = wrapperOf(view);
  if (wrapper === null) return null;
  const properties = innerProperties(wrapper.BasicProperties as Json);
  const { body, lossless } = innerBody(wrapper.Message as string, shortText(properties.contentType));
  const exception = wrapper.Exception as string;
  const chain = dotnetChain(exception);
  const cause = significant(chain);
  const queue = nonEmpty(wrapper.Queue);
  const routingKey = nonEmpty(wrapper.RoutingKey);
  return {
    convention: "easynetq",
    origin: {
      ...(queue === null ? {} : { queue }),
      exchange: wrapper.Exchange as string,
      ...(routingKey === null ? {} : { routingKeys: [routingKey] }),
      ...(lossless ? {} : { wrapper: Buffer.from(view.body ?? []).toString("base64") }),
    },
    error: {
      type: cause?.type ?? null,
      message: cause?.message ?? (exception.split(/\r?\n/, 1)[0] || null),
      stack: exception === "" ? null : exception,
    },
    exceptionTypes: chain.map((link) => link.type),
    reason: null,
    attempts: 1,
    failedAtMs: instantMs(nonEmpty(wrapper.DateTime)),
    messageId: shortText(properties.messageId),
    eventType: dotnetTypeName(shortText(properties.type)),
    inner: amqpMessage({ properties, body }, { container: view.container, deadLetter: view.origin.deadLetter }),
  };
}

/**
 * EasyNetQ: queue `EasyNetQ_Default_Error_Queue`, the original wrapped into a JSON `Error`. The inner message is
 * parked. When its text shows that bytes were lost before, the wrapper is kept in `origin.wrapper` (base64).
 */
export const easyNetQ: Convention = { name: "easynetq", owns: () => false, read };
