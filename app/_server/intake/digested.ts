import { createHash, type Hash } from "node:crypto";

/** Headers that change which events a request brings. */
const EVENT_HEADERS = /^(content-type|x-parkade-source|ce-.+)$/;

export type Digested = {
  /** The same request; its body is hashed as it is read. */
  request: Request;
  /** Hex SHA-256 of the whole request. Reads a body that was not read, and drops its bytes. Call it once. */
  digest(): Promise<string>;
};

/** Hex SHA-256 of the whole request, whose body was read. */
export function digestOf(request: Request, body: Uint8Array): string {
  return hashOfHead(request).update(body).digest("hex");
}

function hashOfHead({ method, url, headers }: Request): Hash {
  const { pathname, search } = new URL(url);
  const eventHeaders = [...headers].filter(([name]) => EVENT_HEADERS.test(name));
  return createHash("sha256").update(JSON.stringify([method, pathname, search, eventHeaders]));
}

/** Hashes a body while it is read: it may be too long to hold in memory. */
export function digested(request: Request): Digested {
  const hash = hashOfHead(request);
  const hashing = new TransformStream<Uint8Array, Uint8Array>({
    transform: (chunk, controller) => {
      hash.update(chunk);
      controller.enqueue(chunk);
    },
  });
  const { method, headers, signal } = request;
  const body = request.body?.pipeThrough(hashing) ?? null;
  // `duplex` is part of the standard for streamed bodies and missing from the type.
  const init = { method, headers, signal, body, duplex: "half" } as RequestInit;
  const copy = new Request(request.url, init);
  return {
    request: copy,
    digest: async () => {
      if (!copy.bodyUsed) for await (const _ of copy.body ?? []);
      return hash.digest("hex");
    },
  };
}
