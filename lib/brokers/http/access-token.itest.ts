import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { outbound } from "@/lib/brokers/broker.conformance";
import { AccessTokens } from "@/lib/brokers/http/access-token";
import { httpAdapter } from "@/lib/brokers/http/adapter";
import type { HttpConfig } from "@/lib/brokers/http/kind.shapes";
import { parseSourceConfig } from "@/lib/brokers/kinds/kinds.shapes";
import type { PublishError, Publisher, PublishPhase } from "@/lib/brokers/port";
import { type Clock, systemClock } from "@/lib/platform/clock";
import { classify } from "@/lib/retry/classify/classify";
import { freePort } from "@/lib/testing/free-port";
import { manualClock } from "@/lib/testing/manual-clock";
import { type HookReceiver, startHookReceiver, startTokenServer, type TokenServer } from "@/lib/testing/receivers";

const SECRET = "s3cret +/%:é";
const ENCODED = "s3cret+%2B%2F%25%3A%C3%A9";
const never = new AbortController().signal;
let server: TokenServer;
let target: HookReceiver;
let publisher: Publisher | null = null;

beforeEach(async () => {
  server = await startTokenServer();
  target = await startHookReceiver();
});
afterEach(async () => {
  await publisher?.close();
  await Promise.all([server.stop(), target.stop()]);
});

const oauthOf = (own: object = {}) => ({
  url: `${server.url}/token`,
  clientId: "park ade",
  clientSecret: SECRET,
  ...own,
});
function configOf(oauth: object = {}, own: object = {}): HttpConfig {
  const config = { redriveUrl: `${target.url}/in`, oauth: oauthOf(oauth), ...own };
  return parseSourceConfig("http", config).config as HttpConfig;
}
function open(oauth: object = {}, own: object = {}, clock: Clock = systemClock): Publisher {
  publisher = httpAdapter({ clock, random: Math.random }).publisher(configOf(oauth, own));
  return publisher;
}
const failure = (publish: Promise<unknown>): Promise<PublishError> =>
  publish.then(
    () => Promise.reject(new Error("expected a failure")),
    (error: PublishError) => error,
  );
const authorizations = () => target.got.map(({ headers }) => headers.authorization);

describe("the token of an HTTP target", () => {
  it.each([{}, { batch: { format: "ndjson" } }])("is requested once for a hundred sends at once: %j", async (own) => {
    target.answer = ({ body }) => {
      const keys = body.split("\n").flatMap((line) => (line.startsWith('{"key"') ? JSON.parse(line).key : []));
      target.says = keys.map((key) => JSON.stringify({ key, status: 200 })).join("\n");
      return 200;
    };
    const one = open({ scope: "orders.write all", audience: "https://orders.example" }, own);
    const sends = Array.from({ length: 100 }, (_, index) => {
      const eventId = `evt-${index}`;
      return one.publish(outbound({}, { eventId, idempotencyKey: `orders:${eventId}` }), never);
    });
    await Promise.all(sends);
    expect(new Set(authorizations())).toEqual(new Set(["Bearer token-1"]));
    expect(server.got).toHaveLength(1);
    const [{ method, url, headers, body }] = server.got as [(typeof server.got)[0]];
    expect([method, url, headers["content-type"]]).toEqual(["POST", "/token", "application/x-www-form-urlencoded"]);
    expect(Object.fromEntries(new URLSearchParams(body))).toEqual({
      ...{ grant_type: "client_credentials", scope: "orders.write all", audience: "https://orders.example" },
    });
    // RFC 6749, section 2.3.1: both encoded as in a form before they are joined.
    const pair = Buffer.from(headers.authorization!.replace("Basic ", ""), "base64").toString();
    expect(pair).toBe(`park+ade:${ENCODED}`);
  });

  it("is requested with the secret in the body where the server wants it there", async () => {
    await open({ method: "client_secret_post" }).publish(outbound({}), never);
    const [{ headers, body }] = server.got as [(typeof server.got)[0]];
    expect(headers).not.toHaveProperty("authorization");
    const form = { grant_type: "client_credentials", client_id: "park ade", client_secret: SECRET };
    expect(Object.fromEntries(new URLSearchParams(body))).toEqual(form);
  });

  it("is renewed before it expires while sends go on with it, by a clock that nobody sets", async () => {
    const clock = manualClock();
    const tokens = new AccessTokens(configOf().oauth!, { clock });
    const token = () => tokens.authorization(never);
    server.beside = { expires_in: 100 };
    expect(await token()).toBe("Bearer token-1");
    clock.jumpWall(86_400_000);
    await clock.advance(89_999);
    expect([await token(), server.tokens.length]).toEqual(["Bearer token-1", 1]);
    await clock.advance(1);
    expect(await token()).toBe("Bearer token-1");
    await expect.poll(token).toBe("Bearer token-2");
    await clock.advance(99_999);
    server.answer = () => 503;
    expect(await token()).toBe("Bearer token-2");
    await expect.poll(() => server.got.length).toBe(3);
    await clock.advance(1);
    expect(await failure(token())).toMatchObject({ code: "OAUTH_UNAVAILABLE" });
    expect(server.tokens).toEqual(["token-1", "token-2"]);
  });

  it("without an expiry is used until it is refused", async () => {
    const clock = manualClock();
    server.beside = {};
    const tokens = new AccessTokens(configOf().oauth!, { clock });
    await tokens.authorization(never);
    await clock.advance(10 * 86_400_000);
    expect(await tokens.authorization(never)).toBe("Bearer token-1");
  });
});

describe("an answer 401 or 403", () => {
  it.each([
    [401, {}],
    [403, {}],
    [401, { batch: { format: "ndjson" } }],
  ])("%i costs exactly that token, and the same attempt is sent once more: %j", async (status, own) => {
    target.says = JSON.stringify({ key: "orders:evt-1", status: 200 });
    const { tokens } = server;
    target.answer = ({ headers }) => (headers.authorization === "Bearer token-1" ? status : 200);
    open({}, own);
    const message = outbound({}, { eventId: "evt-1", idempotencyKey: "orders:evt-1", attempt: 3 });
    expect(await publisher!.publish(message, never)).toEqual({ status: "HTTP 200" });
    expect(authorizations()).toEqual(["Bearer token-1", "Bearer token-2"]);
    const sent = target.got.map(({ body, headers: { authorization: _, ...headers } }) => ({ body, headers }));
    expect(sent[1]).toEqual(sent[0]);
    expect(JSON.stringify(sent[0])).toContain("orders:evt-1");
    await publisher!.publish(message, never);
    expect(tokens).toEqual(["token-1", "token-2"]);
  });

  it("to many sends with one token costs one request for another", async () => {
    const [soon, later] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const tokens = new AccessTokens(configOf().oauth!, { clock: systemClock });
    const sendUntil = ({ promise }: PromiseWithResolvers<void>) =>
      tokens.send(async (authorization) => {
        if (authorization !== "Bearer token-1") return { status: 200 };
        await promise;
        return { status: 401 };
      }, never);
    const sends = Array.from({ length: 10 }, () => [sendUntil(soon), sendUntil(later)] as const);
    await expect.poll(() => server.tokens.length).toBe(1);
    soon.resolve();
    await Promise.all(sends.map(([one]) => one));
    // Refused as well, but by then the token that was refused is not the one in use.
    later.resolve();
    expect(await Promise.all(sends.map(([, one]) => one))).toEqual(sends.map(() => ({ status: 200 })));
    expect(server.tokens).toEqual(["token-1", "token-2"]);
  });

  it.each([401, 403])("to the second send too is the failure of the attempt: %i", async (status) => {
    target.answer = () => status;
    const error = await failure(open().publish(outbound({}), never));
    expect(error).toMatchObject({ code: `HTTP_${status}`, status, sent: "no" });
    expect(classify(error).kind).toBe("permanent");
    expect(target.got).toHaveLength(2);
  });

  it("is the only one that sends twice: what may have been processed is not repeated", async () => {
    target.answer = () => 500;
    expect(await failure(open().publish(outbound({}), never))).toMatchObject({ code: "HTTP_500", sent: "maybe" });
    expect([target.got.length, server.got.length]).toEqual([1, 1]);
  });

  it("shows no token that the target repeats", async () => {
    target.answer = ({ headers }) => {
      target.says = `{"you": "${headers.authorization}", "sent": "${headers.authorization!.slice(7)}"}`;
      return 401;
    };
    const { message } = await failure(open().publish(outbound({}), never));
    expect(message).toContain("answered 401");
    expect(message).not.toMatch(/token-\d/);
  });
});

describe("a token server", () => {
  const answering = (answer: TokenServer["answer"]) => {
    server.answer = answer;
    return {};
  };
  const cut = () => {
    void server.stop();
    return null;
  };

  it.each<[string, () => object | Promise<object>, RegExp]>([
    ["that is not there", async () => ({ url: `http://127.0.0.1:${await freePort()}/` }), /ECONNREFUSED/],
    ["that fails", () => answering(() => 500), /answered 500/],
    ["that is asked too often", () => answering(() => 429), /answered 429/],
    ["that breaks off", () => answering(cut), /ECONNRESET/],
  ])("%s is an outage of the target", async (_, given, words) => {
    open(await given());
    const error = await failure(publisher!.publish(outbound({}), never));
    expect(classify(error)).toMatchObject({ kind: "transient", sent: "no", away: true });
    expect(error.message).toMatch(words);
    expect(await publisher!.probe(never)).toMatchObject({ reachable: false, detail: expect.stringMatching(words) });
    expect(target.got).toEqual([]);
  });

  it.each([{}, { batch: { format: "ndjson" } }])(
    "that does not answer holds a send no longer than its attempt, which knows that nothing was sent: %j",
    async (own) => {
      server.answer = () => null;
      const phases: PublishPhase[] = [];
      const late = new AbortController();
      const sending = failure(open({}, own).publish(outbound({}), late.signal, (phase) => phases.push(phase)));
      await expect.poll(() => server.got.length).toBe(1);
      late.abort(new Error("the attempt has ended"));
      expect((await sending).message).toBe("the attempt has ended");
      expect(phases).toEqual(["authorizing"]);
      expect(target.got).toEqual([]);
    },
  );

  it.each<[number, string, RegExp]>([
    [401, '{"error":"invalid_client"}', /invalid_client.*oauth\.clientId and oauth\.clientSecret/],
    [401, "", /oauth\.clientSecret/],
    [400, '{"error":"invalid_scope","error_description":"no orders.write"}', /no orders\.write.*correct oauth\.scope/],
    [400, '{"error":"invalid_target"}', /oauth\.audience/],
    [400, '{"error":"unauthorized_client"}', /client_credentials/],
    [404, "<html>", /oauth\.url/],
    [302, "", /oauth\.url/],
    [200, "<html>sign in</html>", /oauth\.url/],
    [200, '{"access_token":"a\\r\\nx: 1","token_type":"bearer"}', /without a bearer token/],
    [200, '{"access_token":"a","token_type":"mac"}', /without a bearer token/],
  ])("that answers %i %s names what to correct, at the attempt and in the probe", async (status, says, words) => {
    server.answer = () => {
      server.says = says;
      return status;
    };
    const error = await failure(open().publish(outbound({}), never));
    expect(error).toMatchObject({ code: "OAUTH_REFUSED", sent: "no", message: expect.stringMatching(words) });
    expect(classify(error)).toMatchObject({ kind: "permanent", sent: "no" });
    const probed = await httpAdapter({ clock: systemClock, random: Math.random }).probe(configOf(), never);
    expect(probed).toMatchObject({ reachable: false, detail: expect.stringMatching(words) });
    expect(target.got).toEqual([]);
  });

  it("that repeats the secret does not show it", async () => {
    server.answer = ({ headers }) => {
      const pair = headers.authorization!.replace("Basic ", "");
      server.says = JSON.stringify({
        error: "invalid_client",
        error_description: `${SECRET} ${ENCODED} ${pair} is wrong`,
      });
      return 401;
    };
    const { message } = await failure(open().publish(outbound({}), never));
    expect(message).toContain("(invalid_client: *** *** *** is wrong)");
  });

  it("is asked by a probe as by a send", async () => {
    expect(await open().probe(never)).toMatchObject({ reachable: true });
    expect(authorizations()).toEqual(["Bearer token-1"]);
    await publisher!.publish(outbound({}), never);
    expect(server.tokens).toEqual(["token-1"]);
  });
});
