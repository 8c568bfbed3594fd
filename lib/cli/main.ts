import { hostname, userInfo } from "node:os";
import {
  acknowledgeAlerts,
  addMarker,
  beginMaintenance,
  endMaintenance,
  listAlertRules,
  listAlerts,
  listChannels,
  listMaintenances,
  testChannel,
} from "@/lib/cli/alert";
import { createApi } from "@/lib/cli/api";
import { decide, listApprovals } from "@/lib/cli/approve";
import { removeEvents, restoreArchived, verifyArchive } from "@/lib/cli/archive";
import type { Call } from "@/lib/cli/call";
import { changeEvents } from "@/lib/cli/change";
import { EXIT, type Names, TOKEN } from "@/lib/cli/command";
import { type CommandLine, readCommandLine, UsageError } from "@/lib/cli/command-line";
import type { CommandName } from "@/lib/cli/command-table";
import { COMPLETE_WORD, candidates, SCRIPTS, type Shell } from "@/lib/cli/completion";
import { checkContracts } from "@/lib/cli/contract";
import { imposeControl, liftControl } from "@/lib/cli/control";
import { credentialsFile, readCredential } from "@/lib/cli/credentials";
import { follow, setPace, steer } from "@/lib/cli/follow";
import { forgetData, listForgets, showForget } from "@/lib/cli/forget";
import { changeSkip, releaseTail, showTail } from "@/lib/cli/held";
import { commandText, overviewText } from "@/lib/cli/help";
import { listArchive, listAudit, listControls, listRedrives } from "@/lib/cli/lists";
import { login, logout, type Server, whoami } from "@/lib/cli/login";
import { listRecipes, mend, removeRecipe, saveRecipe, undoMend } from "@/lib/cli/mend";
import { park } from "@/lib/cli/park";
import { redrive } from "@/lib/cli/redrive";
import { listRedriveRules, switchRedriveRule, tryRedriveRule } from "@/lib/cli/redrive-rule";
import { changeRetention, showRetention } from "@/lib/cli/retention";
import { edit, listRevisions, restore } from "@/lib/cli/revise";
import { inferSchema, listSchemas, setSchema } from "@/lib/cli/schema";
import { exportEvents, search } from "@/lib/cli/search";
import { backup, replay, serve } from "@/lib/cli/serve";
import { show } from "@/lib/cli/show";
import { addSource, listSources, probeSource, readSources, setSource, switchSource } from "@/lib/cli/source";
import { go, stop } from "@/lib/cli/stop";
import { tail } from "@/lib/cli/tail";
import { addTarget, listTargets, readTargets, removeTarget } from "@/lib/cli/target";
import { createTerminal } from "@/lib/cli/terminal";
import { verifyAudit } from "@/lib/cli/verify-audit";
import { actorFault, cleanActor } from "@/lib/guard/viewer/actor.pure";
import { ApiError } from "@/lib/platform/api/api-error.shapes";
import { systemClock, within } from "@/lib/platform/clock";
import { visible } from "@/lib/platform/plain/format.pure";
import { isSuiteList, offerTlsSuites, SUITE_LIST_RULE } from "@/lib/platform/tls-suites";
import { version } from "../../package.json";

const DEFAULT_URL = "http://127.0.0.1:3000";
/** A person waits at the Tab key. */
const COMPLETE_MS_MAX = 1_000;
const RUN: Record<CommandName, (call: Call) => Promise<number>> = {
  serve,
  backup: (call) => backup(call, null),
  "backup check": (call) => backup(call, "check"),
  "backup restore": (call) => backup(call, "restore"),
  replay,
  login: (call) => login(call, serverOf(call.line)),
  logout: (call) => logout(call, serverOf(call.line)),
  whoami,
  search,
  show,
  revisions: listRevisions,
  edit,
  restore,
  mend,
  "undo-mend": undoMend,
  "recipe list": listRecipes,
  "recipe save": saveRecipe,
  "recipe remove": removeRecipe,
  redrive: (call) => redrive(call, "deliver"),
  verify: (call) => redrive(call, "verify"),
  ignore: (call) => changeEvents(call, "ignore"),
  release: (call) => changeEvents(call, "release"),
  confirm: (call) => changeEvents(call, "confirm"),
  remove: removeEvents,
  "archive list": listArchive,
  "archive restore": restoreArchived,
  "archive verify": verifyArchive,
  "retention show": showRetention,
  "retention set": (call) => changeRetention(call, "set"),
  "retention unset": (call) => changeRetention(call, "unset"),
  "alert list": listAlerts,
  "alert acknowledge": acknowledgeAlerts,
  "alert rules": listAlertRules,
  "channel list": listChannels,
  "channel test": testChannel,
  mark: addMarker,
  "maintenance list": listMaintenances,
  "maintenance begin": beginMaintenance,
  "maintenance end": endMaintenance,
  forget: forgetData,
  "forget list": listForgets,
  "forget show": showForget,
  follow,
  pause: (call) => steer(call, "pause"),
  resume: (call) => steer(call, "resume"),
  cancel: (call) => steer(call, "cancel"),
  undo: (call) => steer(call, "undo"),
  start: (call) => steer(call, "start"),
  approvals: listApprovals,
  approve: (call) => decide(call, "approve"),
  reject: (call) => decide(call, "reject"),
  pace: setPace,
  stop,
  go,
  "control list": listControls,
  "control blacklist": (call) => imposeControl(call, "blacklist"),
  "control cooldown": (call) => imposeControl(call, "cooldown"),
  "control whitelist": (call) => imposeControl(call, "whitelist"),
  "control lift": liftControl,
  redrives: listRedrives,
  audit: listAudit,
  "verify-audit": verifyAudit,
  "held show": showTail,
  "held skip": (call) => changeSkip(call, "PUT"),
  "held undo": (call) => changeSkip(call, "DELETE"),
  "held release": releaseTail,
  park,
  tail,
  export: exportEvents,
  "source list": listSources,
  "source add": addSource,
  "source probe": probeSource,
  "source set": setSource,
  "source pause": (call) => switchSource(call, "paused"),
  "source drain": (call) => switchSource(call, "draining"),
  "source stop": (call) => switchSource(call, "stopped"),
  "source resume": (call) => switchSource(call, "running"),
  "schema list": listSchemas,
  "schema infer": inferSchema,
  "schema set": setSchema,
  "target list": listTargets,
  "target add": addTarget,
  "target remove": removeTarget,
  contract: checkContracts,
  "redrive-rule list": listRedriveRules,
  "redrive-rule try": tryRedriveRule,
  "redrive-rule on": (call) => switchRedriveRule(call, true),
  "redrive-rule off": (call) => switchRedriveRule(call, false),
  completion: ({ line }) => printed(SCRIPTS[line.arguments[0] as Shell]),
};

const stopped = new AbortController();

const terminal = createTerminal(systemClock, stopped.signal);

async function printed(text: string): Promise<number> {
  await terminal.print(text);
  return EXIT.done;
}

function offerSuites(list: string): void {
  if (list !== "" && !isSuiteList(list)) throw new UsageError(`PARKADE_TLS_CIPHERS ${SUITE_LIST_RULE}`);
  offerTlsSuites(list);
}

async function main(words: readonly string[]): Promise<number> {
  offerSuites(process.env.PARKADE_TLS_CIPHERS ?? "");
  if (words[0] === COMPLETE_WORD) return complete(words.slice(1));
  const first = words.find((word) => !word.startsWith("-"));
  if (first === "help") return main([...words.filter((word) => word !== "help"), "--help"]);
  const line = readCommandLine(words);
  if (words.includes("--version")) return printed(`${version}\n`);
  if (line === null) {
    if (words.some((word) => word === "--help" || word === "-h")) return printed(`${overviewText()}\n`);
    terminal.say(overviewText());
    return EXIT.usage;
  }
  if (line.flag("help")) return printed(`${commandText(line.command)}\n`);
  // Its launcher stops in order on signals by itself.
  if (line.command.name === "serve") return serve({ line, terminal });
  process.once("SIGINT", () => {
    stopped.abort(new Error("stopped"));
    process.once("SIGINT", () => process.exit(EXIT.interrupted));
  });
  return RUN[line.command.name as CommandName]({
    line,
    api: apiFor(line),
    terminal,
    clock: systemClock,
    signal: stopped.signal,
  });
}

function apiFor(line: Pick<CommandLine, "text">, signal = stopped.signal) {
  const url = urlOf(line);
  const token = (isNamed(url) && process.env[TOKEN]) || readCredential(credentialsFile(), url)?.token || null;
  return apiWith(line, token, signal);
}

/** PARKADE_TOKEN belongs to the console of PARKADE_URL: another one that --url names must not learn it. */
function isNamed(url: string): boolean {
  const own = process.env.PARKADE_URL;
  return !own || !URL.canParse(own) || new URL(own).origin === new URL(url).origin;
}

function apiWith(line: Pick<CommandLine, "text">, token: string | null, signal = stopped.signal) {
  const url = urlOf(line);
  if (token !== null) assertPrivate(url);
  return createApi({ url, actor: actorOf(line), token, clock: systemClock, signal });
}

function urlOf(line: Pick<CommandLine, "text">): string {
  const url = line.text("url") ?? (process.env.PARKADE_URL || DEFAULT_URL);
  if (URL.canParse(url) && /^https?:/.test(url)) return url;
  throw new UsageError(`${JSON.stringify(url)} is no address: give one such as ${DEFAULT_URL} in --url or PARKADE_URL`);
}

/** Over plain http whoever stands between would have the token, too. */
function assertPrivate(url: string): void {
  const { protocol, hostname: host } = new URL(url);
  if (protocol === "https:" || ["localhost", "127.0.0.1", "[::1]"].includes(host)) return;
  throw new UsageError(`a token is not sent to ${url}: name an address with https`);
}

function serverOf(line: Pick<CommandLine, "text">): Server {
  const url = urlOf(line);
  assertPrivate(url);
  return {
    ...{ url, file: credentialsFile(), machine: hostname(), otherToken: Boolean(process.env[TOKEN]) },
    apiWith: (token) => apiWith(line, token),
  };
}

/** A name that was given must be right; that of the operating system's user is left out when Parkade does not take it. */
function actorOf(line: Pick<CommandLine, "text">): string | null {
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

/** Candidates for the word under the cursor. Where Parkade does not answer in time, a person types a name. */
async function complete([shell, ...words]: readonly string[]): Promise<number> {
  const reads = { sources: readSources, targets: readTargets };
  const namesOf = async (names: Names) => {
    try {
      const read = (late: AbortSignal) => reads[names]({ api: apiFor({ text: () => null }, late) });
      return (await within<{ name: string }[]>(systemClock, COMPLETE_MS_MAX, read)).map(({ name }) => name);
    } catch {
      return [];
    }
  };
  return printed((await candidates(shell as Shell, words, namesOf)).map((word) => `${word}\n`).join(""));
}

function report(error: unknown, json: boolean): number {
  if (error instanceof UsageError) {
    const command = error.command && `parkade ${error.command.name} --help`;
    terminal.say(`parkade: ${error.message}${command ? `\nSee \`${command}\`.` : ""}`);
    return EXIT.usage;
  }
  if (stopped.signal.aborted) return EXIT.interrupted;
  if (!(error instanceof ApiError)) throw error;
  const { code, status, detail, fields } = error;
  if (json) terminal.say(JSON.stringify({ code, status, detail, errors: fields }));
  else {
    const named = fields
      .filter((field) => !detail.includes(field.detail))
      .map((field) => `  ${field.field}: ${field.detail}`);
    terminal.say([`parkade: ${visible(detail)} (${code})`, ...named.map(visible)].join("\n"));
  }
  return code === "offline" || code === "no-answer" || code === "unexpected-answer" ? EXIT.unreachable : EXIT.refused;
}

// `| head` closes the pipe: the reader has what it wanted.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(EXIT.done);
  throw error;
});

const words = process.argv.slice(2);
try {
  process.exitCode = await main(words);
} catch (error) {
  process.exitCode = report(error, words.includes("--json"));
}
