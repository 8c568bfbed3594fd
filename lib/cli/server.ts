import { hostname, userInfo } from "node:os";
import { createApi } from "@/lib/cli/api";
import type { Call } from "@/lib/cli/call";
import { TOKEN, UsageError } from "@/lib/cli/command";
import type { CommandLine } from "@/lib/cli/command-line";
import { credentialsFile, readCredential } from "@/lib/cli/credentials";
import { actorFault, cleanActor } from "@/lib/guard/viewer/actor.pure";
import { systemClock } from "@/lib/platform/clock";

const DEFAULT_URL = "http://127.0.0.1:3000";

type Line = Pick<CommandLine, "text">;

/** The API of the Parkade that the command line or the environment names. */
export function apiFor(line: Line, signal: AbortSignal) {
  const url = urlOf(line);
  const token = (isNamed(url) && process.env[TOKEN]) || readCredential(credentialsFile(), url)?.token || null;
  return apiWith(line, token, signal);
}

/** PARKADE_TOKEN belongs to the console of PARKADE_URL: another one that --url names must not learn it. */
function isNamed(url: string): boolean {
  const own = process.env.PARKADE_URL;
  return !own || !URL.canParse(own) || new URL(own).origin === new URL(url).origin;
}

function apiWith(line: Line, token: string | null, signal: AbortSignal) {
  const url = urlOf(line);
  if (token !== null) assertPrivate(url);
  return createApi({ url, actor: actorOf(line), token, clock: systemClock, signal });
}

function urlOf(line: Line): string {
  const url = line.text("url") ?? (process.env.PARKADE_URL || DEFAULT_URL);
  if (URL.canParse(url) && /^https?:/.test(url)) return url;
  throw new UsageError(
    `${JSON.stringify(url)} is not an address: use one such as ${DEFAULT_URL} in --url or PARKADE_URL`,
  );
}

/** Over plain http whoever stands between would have the token, too. */
function assertPrivate(url: string): void {
  const { protocol, hostname: host } = new URL(url);
  if (protocol === "https:" || ["localhost", "127.0.0.1", "[::1]"].includes(host)) return;
  throw new UsageError(`a token is not sent to ${url}: use an address with https`);
}

/** What signing in needs to know of that Parkade. */
export function serverOf({ line, signal }: Pick<Call, "line" | "signal">) {
  const url = urlOf(line);
  assertPrivate(url);
  return {
    url,
    file: credentialsFile(),
    machine: hostname(),
    /** The environment holds a token, which goes before the one of the file. */
    otherToken: Boolean(process.env[TOKEN]),
    apiWith: (token: string | null) => apiWith(line, token, signal),
  };
}

/** A name that was given must be right; that of the operating system's user is left out when Parkade does not take it. */
function actorOf(line: Line): string | null {
  const given = line.text("actor") ?? (process.env.PARKADE_ACTOR || null);
  const name = cleanActor(given ?? userName());
  const fault = actorFault(name);
  if (fault === null) return name;
  if (given !== null) throw new UsageError(`the name in --actor or PARKADE_ACTOR ${fault}`);
  return null;
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // A user id without an entry, as in some containers: the audit then says `local`.
    return "";
  }
}
