import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { SMTPServer } from "smtp-server";

export type Received = { method: string; url: string; headers: IncomingHttpHeaders; body: string };

export type HookReceiver = {
  /** `http://127.0.0.1:<port>` */
  url: string;
  got: Received[];
  /** The status of each answer; null = it never answers. */
  answer: (request: Received) => number | null;
  /** The body of each answer. */
  says: string;
  stop(): Promise<void>;
};

/** A real HTTP server that stands for the receiver of a channel. It answers 200 unless the test decides otherwise. */
export async function startHookReceiver(): Promise<HookReceiver> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { method, url, headers } = request;
      const one = { method: method!, url: url!, headers, body: Buffer.concat(chunks).toString() };
      receiver.got.push(one);
      const status = receiver.answer(one);
      if (status !== null) response.writeHead(status).end(receiver.says);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const receiver: HookReceiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    got: [],
    answer: () => 200,
    says: "",
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return receiver;
}

export type TokenServer = HookReceiver & {
  /** The tokens it gave: `token-1`, `token-2`, ... */
  tokens: string[];
  /** Members of each answer beside the token, such as `expires_in`. */
  beside: object;
};

/** A token endpoint of OAuth 2.0. Assign `answer` and `says` for another answer than a token. */
export async function startTokenServer(): Promise<TokenServer> {
  const server: TokenServer = Object.assign(await startHookReceiver(), { tokens: [], beside: { expires_in: 3_600 } });
  server.answer = () => {
    const token = `token-${server.tokens.push("")}`;
    server.tokens.splice(-1, 1, token);
    server.says = JSON.stringify({ access_token: token, token_type: "bearer", ...server.beside });
    return 200;
  };
  return server;
}

export type MailReceiver = {
  /** `smtp://127.0.0.1:<port>` */
  server: string;
  /** Each mail as it came, with its headers. */
  mails: string[];
  stop(): Promise<void>;
};

/** A real SMTP server without TLS and without sign-in. */
export async function startMailReceiver(): Promise<MailReceiver> {
  const mails: string[] = [];
  const smtp = new SMTPServer({
    ...{ authOptional: true, disabledCommands: ["STARTTLS"] },
    onData: (stream, _, done) => {
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", () => {
        mails.push(Buffer.concat(chunks).toString());
        done();
      });
    },
  });
  await new Promise<void>((resolve) => smtp.listen(0, "127.0.0.1", resolve));
  return {
    server: `smtp://127.0.0.1:${(smtp.server.address() as AddressInfo).port}`,
    mails,
    stop: () => new Promise((resolve) => smtp.close(resolve)),
  };
}
