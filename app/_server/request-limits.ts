import { DomainError } from "@/lib/platform/plain/problem.pure";
import {
  carriedOver,
  EMPTY_WINDOW,
  takeSliding,
  type WindowPolicy,
  type WindowState,
  windowAt,
} from "@/lib/retry/rate/window";

/** A window is long enough for a burst of a page, and short enough that a refusal is soon over. */
export const LIMIT_WINDOW_MS = 10_000;
/** Keys remembered at once: a client that changes its name with each request must not fill the memory. */
const KEYS_MAX = 10_000;
/** When a client that holds too many bytes may ask again: its earlier requests are stored within about a second. */
const HELD_RETRY_MS = 1_000;

/** 0 = no limit. */
export type LimitSettings = {
  clientRequests: number;
  /** Requests that bring events of one source in a window. */
  sourceRequests: number;
  /** Bytes of request bodies that are held at once for one client. */
  clientBytes: number;
};

export type LimitHeaders = Readonly<Record<string, string>>;

/** Counts by key, each key over a sliding window. */
class Windows {
  private readonly policy: WindowPolicy;
  private readonly states = new Map<string, WindowState>();

  constructor(limit: number) {
    this.policy = { limit, windowMs: LIMIT_WINDOW_MS };
  }

  take(key: string, nowMs: number): { left: number; resetMs: number; waitMs: number | null } {
    const known = this.states.get(key) ?? EMPTY_WINDOW;
    const { state, granted, waitMs } = takeSliding(this.policy, known, 1, nowMs);
    // Last in the order of the map: the first are those that were asked for longest ago.
    this.states.delete(key);
    this.states.set(key, state);
    this.forgetIdle(nowMs);
    const left = this.policy.limit - state.current - carriedOver(this.policy, state, nowMs);
    return {
      left: Math.max(0, left),
      resetMs: state.windowStartMs + LIMIT_WINDOW_MS - nowMs,
      waitMs: granted ? null : waitMs,
    };
  }

  get size(): number {
    return this.states.size;
  }

  private forgetIdle(nowMs: number): void {
    for (const [key, state] of this.states) {
      const { current, previous } = windowAt(this.policy, state, nowMs);
      if (this.states.size <= KEYS_MAX && current + previous > 0) return;
      this.states.delete(key);
    }
  }
}

/** The limits of this process on its API: it counts by itself, and another web process counts for itself. */
export class RequestLimits {
  private readonly settings: LimitSettings;
  private readonly clients: Windows;
  private readonly sources: Windows;
  private readonly held = new Map<string, number>();

  constructor(settings: LimitSettings) {
    this.settings = settings;
    this.clients = new Windows(settings.clientRequests);
    this.sources = new Windows(settings.sourceRequests);
  }

  /**
   * Counts a request of a client. Returns the header fields of draft-ietf-httpapi-ratelimit-headers-10. Throws DomainError
   * `too-many-requests` with the same fields.
   */
  takeRequest(client: string, nowMs: number): LimitHeaders {
    return this.take("client", this.clients, this.settings.clientRequests, client, nowMs);
  }

  remembered(): number {
    return this.clients.size + this.sources.size;
  }

  /** Of every client. */
  heldBytes(): number {
    return [...this.held.values()].reduce((sum, bytes) => sum + bytes, 0);
  }

  /** Counts a request that brings events of a source. Throws as `takeRequest`. */
  takeSource(source: string, nowMs: number): LimitHeaders {
    return this.take("source", this.sources, this.settings.sourceRequests, source, nowMs);
  }

  private take(name: string, windows: Windows, limit: number, key: string, nowMs: number): LimitHeaders {
    if (limit === 0) return {};
    const { left, resetMs, waitMs } = windows.take(key, nowMs);
    const headers = {
      "ratelimit-policy": `"${name}";q=${limit};w=${LIMIT_WINDOW_MS / 1000}`,
      ratelimit: `"${name}";r=${left};t=${seconds(waitMs ?? resetMs)}`,
    };
    if (waitMs === null) return headers;
    const whose = name === "source" ? `the source ${JSON.stringify(key)}` : "this client";
    throw new DomainError(
      "too-many-requests",
      `More than ${limit} requests in ${LIMIT_WINDOW_MS / 1000} s for ${whose}: try again in ${seconds(waitMs)} s`,
      { retryAfterMs: waitMs, headers },
    );
  }

  /**
   * Adds to the bytes held for a client; a number below 0 gives back. Throws DomainError `too-many-requests` when the
   * client has other large requests under way, and then counts nothing. One request alone is never refused.
   */
  holdBytes(client: string, bytes: number, ofThisRequest: number): void {
    const limit = this.settings.clientBytes;
    if (limit === 0) return;
    const sum = (this.held.get(client) ?? 0) + bytes;
    if (bytes > 0 && sum > limit && sum > ofThisRequest + bytes) {
      throw new DomainError(
        "too-many-requests",
        `Other large requests of this client are being stored: send this one again in ${seconds(HELD_RETRY_MS)} s, or stream it as NDJSON`,
        {
          retryAfterMs: HELD_RETRY_MS,
          headers: {
            "ratelimit-policy": `"held-bytes";q=${limit};qu="content-bytes"`,
            ratelimit: `"held-bytes";r=0;t=${seconds(HELD_RETRY_MS)}`,
          },
        },
      );
    }
    if (sum > 0) this.held.set(client, sum);
    else this.held.delete(client);
  }
}

function seconds(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1000));
}
