import { isJson } from "@/lib/platform/plain/json-text.pure";
import { isStorableText } from "@/lib/platform/plain/storable.pure";
import type { Header } from "./dead-letter.pure";

const NAME_MAX = 1_024;
const VALUE_MAX = 65_536;

/** Whether text that a recipe has computed can be the value of a header. */
export function isHeaderText(text: string): boolean {
  return text.length <= VALUE_MAX && !/[\r\n]/.test(text) && isStorableText(text);
}

/** Why a header that a person gives cannot be stored; null = it can. A NUL or half a surrogate pair has been refused before. */
export function headerFault([name, value, encoding = "text"]: Header): string | null {
  if (name === null || name === "") return "must have a name";
  if (name.length > NAME_MAX) return `has a name of more than ${NAME_MAX} characters`;
  if (value !== null && value.length > VALUE_MAX) return `has more than ${VALUE_MAX} characters`;
  switch (encoding) {
    case "text":
      return null;
    case "bytes":
      return value !== null && !isBase64(value) ? "must be base64 text, as its encoding is bytes" : null;
    case "amqp":
      return value !== null && !isJson(value) ? "must be JSON, as its encoding is amqp" : null;
    default:
      return "must have text, bytes or amqp as its encoding";
  }
}

export function isBase64(text: string): boolean {
  return text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text);
}

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** The name as HTTP carries it; null = HTTP cannot. AMQP names of CloudEvents attributes hold a colon, which HTTP does not allow. */
export function httpName(name: string): string | null {
  const http = name.replace(/^cloudEvents[:_]/i, "ce-");
  return TOKEN.test(http) ? http : null;
}

/** Strict base64 (RFC 4648, section 4): what a lenient decoder would skip is a sign of damage. */
export function decodeBase64(text: string): Uint8Array | null {
  return isBase64(text) ? Buffer.from(text, "base64") : null;
}
