import type { ChainHead, SealKind } from "@/lib/guard/audit-chain/chain.pure";

/** An entry as it is sent: the fields of the export. */
type SentEntry = {
  id: string;
  at: string;
  actor: string;
  action: string;
  subjectId: string | null;
  reason: string | null;
  before?: unknown;
  after?: unknown;
};

/** A seal with its entry as it is now. `entry` null = the entry is not in the store any more. */
export type SealedEntry = ChainHead & { kind: SealKind; entryId: string; sealedAt: string; entry: SentEntry | null };

/** Facility 13, log audit. */
const FACILITY = 13;
const NOTICE = 5;
const WARNING = 4;
/** The number that RFC 5612 keeps for those without one of their own. */
const SD_ID = "parkade@32473";
const MESSAGE_ID_MAX = 32;
const HOST_MAX = 255;
/** Of a text in a message that was cut: four of them in the longest form, `\uXXXX`, fit into 8 KiB. */
const CUT_TEXT_MAX = 200;

/**
 * One message of RFC 5424: printable ASCII in one line, so that no content of an entry begins another message, whatever the
 * server separates messages by. `bytesMax` null = it is never cut; else the values before and after, and the ends of
 * texts, are left out of a longer one, which says so (`cut`).
 */
export function syslogMessage(
  sealed: SealedEntry,
  { hostname, bytesMax }: { hostname: string; bytesMax: number | null },
): string {
  const whole = messageOf(sealed, hostname, false);
  return bytesMax === null || whole.length <= bytesMax ? whole : messageOf(sealed, hostname, true);
}

function messageOf({ entry, ...seal }: SealedEntry, hostname: string, cut: boolean): string {
  const { scope, seq, chainHash, kind, entryId, sealedAt } = seal;
  const priority = FACILITY * 8 + (entry === null ? WARNING : NOTICE);
  const head = [
    ...[`<${priority}>1`, entry?.at ?? sealedAt, headerField(hostname, HOST_MAX), "parkade", "-"],
    ...[headerField(entry?.action ?? "deleted", MESSAGE_ID_MAX)],
  ];
  const facts = { scope, seq, chainHash, kind, entryId, ...(cut ? { cut: true } : {}) };
  const data = Object.entries(facts).map(([name, value]) => `${name}="${value}"`);
  const body = entry === null ? { id: entryId, deleted: true } : cut ? shortened(entry) : entry;
  return `${head.join(" ")} [${SD_ID} ${data.join(" ")}] ${asciiJson({ ...body, seal: { scope, seq, chainHash } })}`;
}

function shortened(entry: SentEntry): object {
  const texts = Object.entries(entry).map(([name, value]) => [
    ...[name, typeof value === "string" ? value.slice(0, CUT_TEXT_MAX) : value],
  ]);
  return { ...Object.fromEntries(texts), before: null, after: null, cut: true };
}

/** Printable ASCII without blanks; `-` = nothing is left. */
function headerField(text: string, lengthMax: number): string {
  return text.replace(/[^!-~]/g, "").slice(0, lengthMax) || "-";
}

/** Anything but printable ASCII stands in a string, as JSON has no other place for it. */
function asciiJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
