type ExceptionLink = { type: string; message: string };

/** Exceptions that frameworks throw around the consumer's own failure. Grouping by them would put every failure into one group. */
const WRAPPERS = new Set([
  "ListenerExecutionFailedException",
  "MessagingException",
  "MessageHandlingException",
  "AmqpRejectAndDontRequeueException",
  "ImmediateAcknowledgeAmqpException",
  "UndeclaredThrowableException",
  "InvocationTargetException",
  "ExecutionException",
  "CompletionException",
  "AggregateException",
  "TargetInvocationException",
  "MassTransitException",
  "ConsumerException",
]);

/** Longer text is no type: a header may hold a megabyte. */
const TYPE_CHARS_MAX = 1_000;

/** `org.acme.Outer$BadAmount` -> `BadAmount`; .NET generics and nested types likewise. */
export function simpleName(type: string): string {
  return (
    type
      .slice(0, TYPE_CHARS_MAX)
      .replace(/`\d.*$/, "")
      .split(/[.$+:/\\]/)
      .at(-1) ?? type
  );
}

/** The failure of the consumer itself: the first link that is no wrapper, else the innermost. */
export function significant(chain: readonly ExceptionLink[]): ExceptionLink | null {
  return chain.find((link) => !WRAPPERS.has(simpleName(link.type))) ?? chain.at(-1) ?? null;
}

// Namespace, then name. `$` belongs to names only: as a separator too it would make matching exponential.
const TYPE = String.raw`(?:[A-Za-z_][\w$]*[.+])+[A-Za-z_][\w$]*(?:\x60\d+(?:\[[^\]]*\])?)?`;
const JAVA_LINK = new RegExp(`^(?:Caused by: )?(${TYPE})(?:: (.*))?$`);
const DOTNET_LINK = new RegExp(String.raw`^\s*(?:\(Inner Exception #\d+\) )?(${TYPE})(?: \(0x[0-9A-Fa-f]+\))?: ?(.*)$`);

/** Chain of a Java stack trace: its first line, then each `Caused by:`. Suppressed exceptions are left out. */
export function javaChain(stack: string): ExceptionLink[] {
  const lines = stack.split(/\r?\n/);
  const chain: ExceptionLink[] = [];
  for (const [index, line] of lines.entries()) {
    if (index > 0 && !line.startsWith("Caused by: ")) continue;
    const match = JAVA_LINK.exec(line.trimEnd());
    if (match !== null) chain.push({ type: match[1]!, message: match[2] ?? "" });
  }
  return chain;
}

/**
 * Chain of .NET's `Exception.ToString()`: `Type: message`, then ` ---> Inner: message`, on one line or on several,
 * before the frames. The first line that names a type starts it: some frameworks put their own words first.
 */
export function dotnetChain(text: string): ExceptionLink[] {
  const chain: ExceptionLink[] = [];
  for (const line of text.split(/\r?\n/)) {
    if (/^\s+at /.test(line) || line.includes("--- End of")) {
      if (chain.length > 0) break;
      continue;
    }
    for (const part of line.split("---> ")) {
      const match = DOTNET_LINK.exec(part);
      if (match !== null) chain.push({ type: match[1]!, message: match[2]!.trim() });
    }
  }
  return chain;
}

const FIRST_LINE = /^([A-Za-z_$][\w$.]*)(?: \[[^\]]*\])?: ?(.*)$/;

/** Class and message in the first line of a stack that V8 wrote: `TypeError [ERR_X]: bad amount`; null when it names none. */
export function significantLine(stack: string | null): ExceptionLink | null {
  const match = FIRST_LINE.exec(stack?.split("\n", 1)[0]?.slice(0, 2_000) ?? "");
  return match === null ? null : { type: match[1]!, message: match[2]! };
}
