import { spawn } from "node:child_process";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { ROUTES } from "@/app/routes";
import { LOCAL_CALLER } from "@/lib/testing/local-caller";
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

/**
 * `parkade` in a process of its own, as maria, against the route handlers of this process over HTTP. `address`: from which the
 * handlers see it come.
 */
export async function testCommandLine({ address = "127.0.0.1" } = {}) {
  const server = createServer(async (incoming, response) => {
    const request = new Request(`http://localhost${incoming.url}`, {
      method: incoming.method!,
      headers: { ...(incoming.headers as Record<string, string>), ...LOCAL_CALLER, "x-parkade-address": address },
      ...(incoming.method === "GET" ? {} : { body: Readable.toWeb(incoming) as ReadableStream, duplex: "half" }),
    } as RequestInit);
    const answer = await answerOf(request);
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    response.end(Buffer.from(await answer.arrayBuffer()));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  /** With further variables; `said()` is what it has said until then. */
  const begin = (words: readonly string[], env: Record<string, string> = {}) => {
    const child = spawn(process.execPath, [program("command-line"), ...words], {
      env: { ...process.env, PARKADE_URL: url, PARKADE_ACTOR: "maria", ...env },
      stdio: ["pipe", "pipe", "pipe"],
    });
    let [out, said] = ["", ""];
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      out += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      said += text;
    });
    const ended = new Promise<CommandLineRun>((resolve) => {
      child.once("close", (code) => resolve({ code: code ?? 0, out, said }));
    });
    return { ended, said: () => said, stop: () => child.kill("SIGINT") };
  };
  const run = (...words: string[]): Promise<CommandLineRun> => begin(words).ended;
  return { url, begin, run, close: () => new Promise((resolve) => server.close(resolve)) };
}
