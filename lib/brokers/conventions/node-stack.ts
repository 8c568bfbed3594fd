import type { ExceptionLink } from "@/lib/brokers/conventions/exception-text";

const FIRST_LINE = /^([A-Za-z_$][\w$.]*)(?: \[[^\]]*\])?: ?(.*)$/;

/** Class and message in the first line of a stack that V8 wrote: `TypeError [ERR_X]: bad amount`; null when it names none. */
export function significantLine(stack: string | null): ExceptionLink | null {
  const match = FIRST_LINE.exec(stack?.split("\n", 1)[0]?.slice(0, 2_000) ?? "");
  return match === null ? null : { type: match[1]!, message: match[2]! };
}
