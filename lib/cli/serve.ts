import type { Call } from "@/lib/cli/call";
import { EXIT } from "@/lib/cli/command";

/** Installed beside this package by those who run Parkade; services that use the kit do without. */
const SERVER_PACKAGE = "parkade-server";

type BackupCommand = {
  action: "check" | "restore" | null;
  path: string;
  dataDir?: string;
  actor?: string;
  json: boolean;
};

type Server = {
  serve(options: { port?: string; dataDir?: string; demo: boolean }): Promise<void>;
  /** Sets the exit code. */
  backup(command: BackupCommand): Promise<void>;
  /** Sets the exit code. */
  replay(command: {
    redriveId: string;
    eventId: string | null;
    policyName: string | null;
    dataDir?: string | undefined;
  }): Promise<void>;
};

type Local = Pick<Call, "line" | "terminal">;

/** Runs Parkade in this process until a signal ends it; the server sets the exit code and ends the process. */
export async function serve({ line, terminal }: Local): Promise<number> {
  const server = await loadServer(terminal);
  if (server === null) return EXIT.refused;
  const [port, dataDir] = [line.text("port") ?? undefined, line.text("data-dir") ?? undefined];
  await server.serve({ port, dataDir, demo: line.flag("demo") });
  return EXIT.done;
}

/** Takes, checks or restores a backup of the store, beside a Parkade that runs or not. */
export async function backup({ line, terminal }: Local, action: BackupCommand["action"]): Promise<number> {
  const server = await loadServer(terminal);
  if (server === null) return EXIT.refused;
  const [dataDir, actor] = [line.text("data-dir") ?? undefined, line.text("actor") ?? undefined];
  await server.backup({ action, path: line.arguments[0]!, dataDir, actor, json: line.flag("json") });
  return Number(process.exitCode ?? EXIT.done);
}

/** Decides recorded attempts again, whether or not Parkade is running. */
export async function replay({ line, terminal }: Local): Promise<number> {
  const server = await loadServer(terminal);
  if (server === null) return EXIT.refused;
  const [redriveId, eventId = null] = line.arguments as [string, string?];
  await server.replay({
    redriveId,
    eventId,
    policyName: line.text("policy"),
    dataDir: line.text("data-dir") ?? undefined,
  });
  return Number(process.exitCode ?? EXIT.done);
}

async function loadServer(terminal: Call["terminal"]): Promise<Server | null> {
  try {
    return await import(SERVER_PACKAGE);
  } catch (error) {
    if (!(error instanceof Error) || !error.message.includes(`'${SERVER_PACKAGE}'`)) throw error;
    terminal.say(
      `parkade: the package ${SERVER_PACKAGE} is not installed beside parkade. No registry has it: \`npm run pack:server\` in a clone of Parkade makes it, then \`npm install /path/to/dist-kit/${SERVER_PACKAGE}-VERSION.tgz\` here. In the clone itself use \`npm start\`, \`npm run backup\` and \`npm run replay\`.`,
    );
    return null;
  }
}
