import { createHash } from "node:crypto";

/** Besides the body, what says which events a request brings. */
const TELLING = /^(content-type|x-parkade-source|ce-.+)$/;

export type Digested = {
  /** The same request; its body is hashed as it is read. */
  request: Request;
  /** Hex SHA-256 of the whole request: what nobody has read of its body is read now, and forgotten. Call it once. */
  digest(): Promise<string>;
};

/** A request whose body may be too long to hold: its fingerprint comes with the reading. */
export function digested(request: Request): Digested {
  const { pathname, search } = new URL(request.url);
  const telling = [...request.headers].filter(([name]) => TELLING.test(name));
  const hash = createHash("sha256").update(JSON.stringify([request.method, pathname, search, telling]));
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
