import { execFile } from "node:child_process";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { ROUTES } from "@/app/routes";
import { program } from "@/lib/testing/programs";

type Handler = (request: Request, context: { params: Promise<Record<string, string>> }) => Promise<Response>;

export type CommandLineRun = { code: number; out: string; said: string };

/** The fixed path before the one with a parameter, as Next chooses. */
async function answerOf(request: Request): Promise<Response> {
  const path = new URL(request.url).pathname.split("/");
  const matches = Object.keys(ROUTES).filter((route) => {
    const parts = route.split("/");
    return parts.length === path.length && parts.every((part, at) => part.startsWith("{") || part === path[at]);
  });
  const [route] = matches.sort((a, b) => a.split("{").length - b.split("{").length);
  const handlers = (await ROUTES[route!]!()) as Record<string, Handler>;
  const params = route!.split("/").flatMap((part, at) => (part.startsWith("{") ? [[part.slice(1, -1), path[at]]] : []));
  return handlers[request.method]!(request, { params: Promise.resolve(Object.fromEntries(params)) });
}

/** `parkade` in a process of its own, as maria, against the route handlers of this process over HTTP. */
export async function testCommandLine() {
  const server = createServer(async (incoming, response) => {
    const request = new Request(`http://localhost${incoming.url}`, {
      method: incoming.method!,
      headers: incoming.headers as Record<string, string>,
      ...(incoming.method === "GET" ? {} : { body: Readable.toWeb(incoming) as ReadableStream, duplex: "half" }),
    } as RequestInit);
    const answer = await answerOf(request);
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    response.end(Buffer.from(await answer.arrayBuffer()));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const run = (...words: string[]): Promise<CommandLineRun> =>
    new Promise((resolve) => {
      execFile(
        process.execPath,
        [program("command-line"), ...words],
        { env: { ...process.env, PARKADE_URL: url, PARKADE_ACTOR: "maria" } },
        (error, out, said) => resolve({ code: Number(error?.code ?? 0), out, said }),
      );
    });
  return { run, close: () => new Promise((resolve) => server.close(resolve)) };
}
