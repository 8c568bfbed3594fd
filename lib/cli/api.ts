import { clockFault, type Signing, signatureHeaders, webhookIdOf } from "@/lib/brokers/http/request-signature";
import { ApiError, problemOf } from "@/lib/platform/api/api-error.shapes";
import { type Clock, within } from "@/lib/platform/clock";

/** Longer than any read may take on the server. */
const READ_MS_MAX = 30_000;
/** One request that changes 100,000 events takes up to this time on a slow store. */
const WRITE_MS_MAX = 120_000;
/** How often a request is repeated that was refused for now, or whose answer was lost. */
const REPEATS_MAX = 5;
const REPEAT_MS = 1_000;
/** A server that wants a longer pause is left alone. */
const PAUSE_MS_MAX = 30_000;

/** A body that is text is sent as it is. `signing`: each try is signed anew. */
type Change = { method: "POST" | "PUT" | "PATCH" | "DELETE"; body: object | string; key?: string; signing?: Signing };

export type Api = {
  /** Both throw ApiError: the server's problem, or `offline`, `no-answer`, `unexpected-answer`. */
  get<Answer>(path: string, query?: URLSearchParams): Promise<Answer>;
  /** With an Idempotency-Key the request is repeated when its answer is lost. */
  change<Answer>(path: string, change: Change): Promise<Answer>;
  /** An answer whose body is read as it comes. */
  stream(path: string, query?: URLSearchParams): Promise<Response>;
};

export type ApiOptions = {
  url: string;
  actor: string | null;
  /** null = the server lets this machine in without. */
  token: string | null;
  clock: Clock;
  signal: AbortSignal;
};

export function createApi({ url, actor, token, clock, signal }: ApiOptions): Api {
  const base = url.endsWith("/") ? url : `${url}/`;
  // One character for each UTF-8 byte, because `fetch` takes no others.
  const named: Record<string, string> = {
    ...(actor !== null && { "x-actor": Buffer.from(actor, "utf8").toString("latin1") }),
    ...(token !== null && { authorization: `Bearer ${token}` }),
  };

  const once = async (path: string, change: Change | null, ended: AbortSignal): Promise<Response> => {
    const key: Record<string, string> = change?.key ? { "idempotency-key": change.key } : {};
    const body = change && (typeof change.body === "string" ? change.body : JSON.stringify(change.body));
    const signing = change?.signing;
    const signed = signing && body && signatureHeaders(signing, { id: webhookIdOf(body), atMs: clock.wallMs(), body });
    const response = await fetch(base + path, {
      method: change?.method ?? "GET",
      headers: {
        accept: "application/json",
        ...named,
        ...(change && { "content-type": "application/json" }),
        ...key,
        ...(signed || {}),
      },
      body,
      signal: ended,
    });
    if (response.ok) return response;
    const problem = await problemOf(response);
    const fault = signed && response.status === 401 ? clockFault(response.headers.get("date"), clock.wallMs()) : null;
    throw fault ? new ApiError(problem.code, `${problem.detail}: ${fault}`, problem) : problem;
  };

  const answered = async <Answer>(path: string, change: Change | null, read: (from: Response) => Promise<Answer>) => {
    for (let repeats = 0; ; repeats++) {
      try {
        return await within(clock, change ? WRITE_MS_MAX : READ_MS_MAX, async (late) =>
          // A change is not broken off: the person is told what became of it.
          read(await once(path, change, change ? late : AbortSignal.any([signal, late]))),
        );
      } catch (cause) {
        const error = signal.aborted && !change ? cause : failureOf(cause, url);
        const pauseMs = error instanceof ApiError ? pauseBefore(error, change) : null;
        if (pauseMs === null || repeats === REPEATS_MAX) throw error;
        await clock.sleep(pauseMs, signal);
      }
    }
  };
  const withQuery = (path: string, query?: URLSearchParams) => (query?.size ? `${path}?${query}` : path);
  return {
    get: (path, query) => answered(withQuery(path, query), null, (response) => response.json()),
    change: (path, change) =>
      answered(path, change, async (response) => (response.status === 204 ? undefined : response.json())),
    stream: async (path, query) => {
      try {
        return await once(withQuery(path, query), null, signal);
      } catch (cause) {
        throw signal.aborted ? cause : failureOf(cause, url);
      }
    },
  };
}

/** How long to wait before the same request; null = it is not repeated. */
function pauseBefore({ code, status, retryAfterMs, cause }: ApiError, change: Change | null): number | null {
  // Not begun, by the server's own word.
  const refusedForNow = status === 429 || code === "too-busy" || code === "idempotency-key-in-progress";
  const lost = change?.key !== undefined && (status === 503 || (code === "offline" && !isRefusedConnection(cause)));
  if (!refusedForNow && !lost && !(change === null && status === 503)) return null;
  const pauseMs = retryAfterMs ?? REPEAT_MS;
  return pauseMs <= PAUSE_MS_MAX ? pauseMs : null;
}

/** Nothing listens there, or the name is unknown: nothing was sent. */
function isRefusedConnection(cause: unknown): boolean {
  const code = cause instanceof Error && cause.cause instanceof Error && "code" in cause.cause && cause.cause.code;
  return code === "ECONNREFUSED" || code === "ENOTFOUND" || code === "EAI_AGAIN";
}

function failureOf(cause: unknown, url: string): unknown {
  if (cause instanceof ApiError) return cause;
  if (cause instanceof DOMException && cause.name === "TimeoutError") {
    return new ApiError(
      "no-answer",
      `Parkade at ${url} did not answer in time: check what was done before you try again`,
      {
        cause,
      },
    );
  }
  if (cause instanceof SyntaxError) {
    return new ApiError("unexpected-answer", `What answers at ${url} is not Parkade: set its address with --url`, {
      cause,
    });
  }
  // `fetch` rejects with a TypeError whose cause is the error of the socket.
  if (cause instanceof TypeError) {
    const detail = `Parkade does not answer at ${url}: start it with \`parkade serve\`, in a clone with \`npm start\`, or set its address with --url or PARKADE_URL`;
    return new ApiError("offline", detail, { cause });
  }
  return cause;
}
