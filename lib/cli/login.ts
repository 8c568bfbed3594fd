import type { Api } from "@/lib/cli/api";
import { type Call, patiently, printAnswer } from "@/lib/cli/call";
import { EXIT, TOKEN } from "@/lib/cli/command";
import { readCredential, writeCredential } from "@/lib/cli/credentials";
import { serverOf } from "@/lib/cli/server";
import { factsText } from "@/lib/cli/table";
import type { MeOut } from "@/lib/guard/accounts/accounts.shapes";
import type { DeviceAnswer, DeviceStarted } from "@/lib/guard/device-sign-ins/device-sign-ins.shapes";
import { ACTIONS } from "@/lib/guard/viewer/viewer.pure";
import { ApiError } from "@/lib/platform/api/api-error.shapes";
import { visible } from "@/lib/platform/plain/format.pure";

const NAME_CHARS_MAX = 100;

/** `login`: shows a code, waits until the person has confirmed it in the console, and keeps the token. */
export async function login(call: Call): Promise<number> {
  const server = serverOf(call);
  const { line, terminal } = call;
  const api = server.apiWith(null);
  const me = await api.get<MeOut>("api/v1/me");
  if (me.signIn.open && me.means !== null) {
    return printAnswer(call, { url: server.url, signInNeeded: false }, () => `No sign-in is needed at ${server.url}\n`);
  }
  if (!me.signIn.accounts && me.signIn.oidc === null) {
    terminal.say(
      `There are no accounts at ${server.url} yet: open the link that was printed when Parkade started, and create the first one.`,
    );
    return EXIT.refused;
  }
  const former = readCredential(server.file, server.url);
  const name = line.text("name") ?? `parkade on ${server.machine}`.slice(0, NAME_CHARS_MAX);
  const started = await api.change<DeviceStarted>("api/v1/device-sign-ins", { method: "POST", body: { name } });
  terminal.say(`Open ${visible(started.url)}\nand confirm that it shows the code ${visible(started.userCode)}.`);
  const { state, token, secret } = await waitFor(call, api, started);
  if (state !== "confirmed" || token === null || secret === null) {
    terminal.say("The sign-in was denied.");
    return EXIT.refused;
  }
  writeCredential(server.file, server.url, {
    ...{ token: secret, tokenId: token.id, account: token.accountName, expiresAt: token.expiresAt },
  });
  if (former !== null) await revoke(server, former).catch(() => terminal.say("The previous token was not revoked."));
  if (server.otherToken) terminal.say(`${TOKEN} is set, and takes precedence over this sign-in.`);
  const signedIn = { url: server.url, signInNeeded: true, token };
  return printAnswer(call, signedIn, () => `Signed in as ${visible(token.accountName)} until ${token.expiresAt}\n`);
}

/** Asks until the person has decided, and has the second factor that is demanded. Throws ApiError when the code has ended. */
async function waitFor(call: Call, api: Api, { deviceSecret, pollMs }: DeviceStarted): Promise<DeviceAnswer> {
  for (let said = false; ; ) {
    await call.clock.sleep(pollMs, call.signal);
    try {
      const answer = await patiently(call, () =>
        api.change<DeviceAnswer>("api/v1/device-sign-ins/take", { method: "POST", body: { deviceSecret } }),
      );
      if (answer.state !== "waiting") return answer;
    } catch (error) {
      if (!lacksFactor(error)) throw error;
      if (!said) call.terminal.say("Your role needs a second factor: add one in the console. Waiting for it.");
      said = true;
    }
  }
}

const lacksFactor = (error: unknown) => error instanceof ApiError && error.code === "second-factor-needed";

/** `logout`: the token ends at the server first, so that a copy of it is worth nothing. */
export async function logout(call: Call): Promise<number> {
  const server = serverOf(call);
  const { terminal } = call;
  const credential = readCredential(server.file, server.url);
  if (credential !== null) {
    await revoke(server, credential).catch((error: unknown) => {
      if (!lacksFactor(error)) throw error;
      terminal.say(
        "The token was not revoked, since its owner lacks a second factor: revoke it in the console, under Account.",
      );
    });
    writeCredential(server.file, server.url, null);
  }
  if (server.otherToken) terminal.say(`${TOKEN} is set, and stays as it is.`);
  const text = credential === null ? "You were not signed in" : `${visible(credential.account)} is signed out`;
  return printAnswer(
    call,
    { url: server.url, account: credential?.account ?? null },
    () => `${text} at ${server.url}\n`,
  );
}

/** A token that is not good any more needs no revoking. */
async function revoke(
  { apiWith }: ReturnType<typeof serverOf>,
  { token, tokenId }: { token: string; tokenId: string },
): Promise<void> {
  try {
    await apiWith(token).change(`api/v1/tokens/${tokenId}`, { method: "DELETE", body: {} });
  } catch (error) {
    if (!(error instanceof ApiError) || !["unauthenticated", "unknown-token"].includes(error.code)) throw error;
  }
}

export async function whoami(call: Call): Promise<number> {
  const me = await call.api.get<MeOut>("api/v1/me");
  await printAnswer(call, me, () =>
    factsText([
      ["name", me.name ?? "nobody: sign in with parkade login"],
      ["by", me.means ?? "none"],
      ["may", mayText(me.actions)],
      ["sources", me.sources === "all" ? "all" : me.sources.join(", ") || "none"],
    ]),
  );
  return me.means === null ? EXIT.refused : EXIT.done;
}

function mayText(actions: MeOut["actions"]): string {
  if (actions === "all") return "everything";
  const missing = ACTIONS.filter((action) => !actions.includes(action));
  return missing.length === 1 ? `everything but ${missing[0]}` : actions.join(", ") || "nothing";
}
