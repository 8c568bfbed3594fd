import { createPrivateKey, generateKeyPairSync, type JsonWebKey, type KeyObject, randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type JWTPayload, SignJWT } from "jose";
import Provider from "oidc-provider";

type OpenIdPerson = { name: string; groups: string[] };

export const OPENID_CLIENT = { id: "parkade", secret: "a secret of the client" };

/** A real OpenID provider on a free port of this machine, where everybody is signed in without a question. */
export type OpenIdServer = {
  issuer: string;
  /** By subject. */
  people: Record<string, OpenIdPerson>;
  /** Who signs in next. */
  subject: string;
  /** What the ID token tells of it, from the next `rotateKeys` on. */
  told: string[];
  /** How: `ts` = when, in seconds of the epoch. */
  login: { acr?: string; amr?: string[]; ts?: number };
  /** Signs with other keys from now on, and publishes them; `published: false` publishes keys that it does not sign with. */
  rotateKeys(how?: { published: boolean }): void;
  /** A token of these claims, signed as the provider signs. */
  sign(claims: JWTPayload): Promise<string>;
  /**
   * Requests to this path get no answer until the returned function is called, as of a provider that takes minutes; `half`: the answer
   * begins, and does not end.
   */
  stall(path: string, how?: { half: boolean }): () => void;
  /** What a browser does that is sent there: the address of the console that it comes back to. Each time another browser. */
  walk(address: string): Promise<URL>;
  /** What the last browser does when it is sent there to sign out: whether the person is asked, and where it comes out after "yes". */
  signOut(address: string): Promise<{ asked: boolean; at: URL }>;
  down(): Promise<void>;
  up(): Promise<void>;
};

type Client = {
  redirectUri: string;
  signedOutUri: string;
  /** Where the provider posts a logout token to. */
  logoutUri: string;
};

export async function openIdServer(own: Client): Promise<OpenIdServer> {
  let port = 0;
  let key: JsonWebKey;
  let stalled: { path: string; half: boolean; until: Promise<void> } | null = null;
  let cookies: Cookies = new Map();
  const ends = [own.redirectUri, own.signedOutUri];
  let provider: Provider;
  let published: object | null = null;
  let server: Server;
  const handler = async (request: IncomingMessage, response: ServerResponse) => {
    const path = request.url!.split("?")[0]!;
    if (path === stalled?.path) {
      if (stalled.half) return void response.writeHead(200, { "content-type": "application/json" }).write("{");
      await stalled.until;
    }
    if (path === "/jwks" && published !== null) {
      response.setHeader("content-type", "application/json").end(JSON.stringify(published));
    } else if (path.startsWith("/interaction/")) await interact(provider, openid, request, response);
    else provider.callback()(request, response);
  };
  const openid: OpenIdServer = {
    issuer: "",
    people: {},
    subject: "",
    login: {},
    told: [...TOLD],
    rotateKeys: (how = { published: true }) => {
      published = how.published ? null : { keys: [publicKey()] };
      key = privateKey();
      provider = new Provider(openid.issuer, configuration(openid, own, key));
    },
    sign: (claims) =>
      new SignJWT(claims)
        .setProtectedHeader({ alg: "RS256", kid: String(key.kid) })
        .sign(createPrivateKey({ key, format: "jwk" })),
    stall: (path, { half } = { half: false }) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      stalled = { path, half, until: promise };
      return () => {
        stalled = null;
        resolve();
      };
    },
    walk: (address) => {
      cookies = new Map();
      return walk(address, { ends, cookies });
    },
    signOut: async (address) => {
      const page = await (await step(new URL(address), cookies)).text();
      const body = new URLSearchParams({ xsrf: /name="xsrf" value="(\w+)"/.exec(page)![1]!, logout: "yes" });
      const confirm = new URL(/action="([^"]+)"/.exec(page)![1]!);
      const answer = await step(confirm, cookies, { method: "POST", body });
      return { asked: page.includes("?</p>"), at: new URL(answer.headers.get("location")!) };
    },
    down: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
    up: async () => {
      server = createServer((request, response) => void handler(request, response));
      await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
      port = (server.address() as AddressInfo).port;
    },
  };
  await openid.up();
  openid.issuer = `http://127.0.0.1:${port}`;
  openid.rotateKeys();
  return openid;
}

/** Of how somebody signed in. */
export const TOLD = ["acr", "amr", "auth_time"] as const;

function configuration(
  openid: OpenIdServer,
  { redirectUri, signedOutUri, logoutUri }: Client,
  key: JsonWebKey,
): object {
  return {
    clients: [
      {
        client_id: OPENID_CLIENT.id,
        client_secret: OPENID_CLIENT.secret,
        redirect_uris: [redirectUri],
        post_logout_redirect_uris: [signedOutUri],
        backchannel_logout_uri: logoutUri,
        backchannel_logout_session_required: true,
      },
    ],
    acrValues: ["pwd", "phr", "phrh"],
    claims: { openid: ["sub", ...openid.told], profile: ["preferred_username", "groups"], email: ["email"] },
    // Groups come by the ID token from one provider and by userinfo from another.
    conformIdTokenClaims: openid.subject !== "by-userinfo",
    cookies: { keys: [randomUUID()] },
    features: {
      devInteractions: { enabled: false },
      backchannelLogout: { enabled: true },
      // As many providers do: whoever does not say which session ends is asked.
      rpInitiatedLogout: {
        enabled: true,
        logoutSource: (ctx: { body: string; oidc: { entities: object } }, form: string) => {
          ctx.body = `${form}${"IdTokenHint" in ctx.oidc.entities ? "" : "<p>Do you want to sign out?</p>"}`;
        },
      },
    },
    // The provider's own connects to no address of this machine.
    fetch: (url: string, { dispatcher: _, ...request }: RequestInit & { dispatcher?: unknown }) => fetch(url, request),
    interactions: { url: (_: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
    jwks: { keys: [key] },
    findAccount: (_: unknown, subject: string) => ({
      accountId: subject,
      claims: () => {
        const { name, groups } = openid.people[subject]!;
        return { sub: subject, preferred_username: name, groups, email: `${subject}@example.com` };
      },
    }),
  };
}

async function interact(
  provider: Provider,
  { subject, login }: OpenIdServer,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { prompt, session } = await provider.interactionDetails(request, response);
  if (prompt.name === "login")
    return provider.interactionFinished(request, response, { login: { accountId: subject, ...login } });
  const grant = new provider.Grant({ accountId: session!.accountId, clientId: OPENID_CLIENT.id });
  grant.addOIDCScope("openid profile email");
  await provider.interactionFinished(request, response, { consent: { grantId: await grant.save() } });
}

/** Follows the redirects of the provider, with its cookies. */
async function walk(address: string, { ends, cookies }: { ends: string[]; cookies: Cookies }): Promise<URL> {
  let at = new URL(address);
  for (let steps = 0; steps < 12; steps++) {
    const answer = await step(at, cookies);
    const location = answer.headers.get("location");
    if (location === null) throw new Error(`${at} answered ${answer.status}: ${await answer.text()}`);
    at = new URL(location, at);
    if (ends.some((end) => at.href.startsWith(end))) return at;
  }
  throw new Error(`${address} leads in circles`);
}

type Cookies = Map<string, string>;

async function step(at: URL, cookies: Cookies, request: RequestInit = {}): Promise<Response> {
  const cookie = [...cookies].map((pair) => pair.join("=")).join("; ");
  const answer = await fetch(at, { ...request, redirect: "manual", headers: { cookie } });
  for (const set of answer.headers.getSetCookie()) {
    const [name, value] = set.split(";")[0]!.split("=") as [string, string];
    cookies.set(name, value);
  }
  return answer;
}

const jwkOf = (key: KeyObject) => ({ ...key.export({ format: "jwk" }), kid: randomUUID(), use: "sig", alg: "RS256" });
const keys = () => generateKeyPairSync("rsa", { modulusLength: 2048 });
const privateKey = () => jwkOf(keys().privateKey);
const publicKey = () => jwkOf(keys().publicKey);
