import { createDeps, type Deps, setDeps } from "@/app/_server/deps";
import { readEnv } from "@/lib/env";
import { createLog } from "@/lib/platform/log";
import { LOCAL_CALLER } from "./local-caller";
import { type TestDatabase, testDatabase } from "./postgres";

type Handler = (request: Request, context: { params: Promise<Record<string, string>> }) => Promise<Response>;

export type TestConsole = {
  deps: Deps;
  database: TestDatabase;
  /** Calls a route's handler as the server does. `body` is sent as JSON unless it is bytes, text or a stream. */
  call<T = Record<string, unknown>>(handler: Handler, options?: CallOptions): Promise<Answer<T>>;
  close(): Promise<void>;
};

export type CallOptions = {
  method?: string;
  /** Query string with its question mark. */
  query?: string;
  params?: Record<string, string>;
  body?: unknown;
  headers?: Record<string, string>;
};
type Answer<T> = { status: number; headers: Headers; body: T; text: string };

/** The web process without Next: route handlers over a database of their own. Changes to `env` apply. */
export async function testConsole(env: Record<string, string> = {}): Promise<TestConsole> {
  const database = await testDatabase();
  const deps = createDeps(
    readEnv({ DATABASE_URL: database.url, ...env }),
    createLog({ process: "test", level: "silent" }),
  );
  setDeps(deps);
  return {
    deps,
    database,
    call: (handler, options) => call(handler, options),
    close: async () => {
      setDeps(null);
      await deps.close();
      await database.drop();
    },
  };
}

async function call<T>(handler: Handler, { method, query = "", params = {}, body, headers = {} }: CallOptions = {}) {
  const raw = body instanceof Uint8Array || body instanceof ReadableStream || typeof body === "string";
  const request = new Request(`http://localhost:3000/${query}`, {
    method: method ?? (body === undefined ? "GET" : "POST"),
    headers: {
      "content-type": "application/json",
      ...LOCAL_CALLER,
      ...headers,
    },
    ...(body === undefined ? {} : { body: raw ? (body as BodyInit) : JSON.stringify(body), duplex: "half" }),
  } as RequestInit);
  const response = await handler(request, { params: Promise.resolve(params) });
  const text = await response.text();
  const isJson = /[/+]json$/.test(response.headers.get("content-type") ?? "");
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: (isJson ? JSON.parse(text) : null) as T,
  } satisfies Answer<T>;
}
