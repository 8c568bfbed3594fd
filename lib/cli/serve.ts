import type { Call } from "@/lib/cli/call";
import { EXIT } from "@/lib/cli/command";

/** Installed beside this package by those who run Parkade; services that use the kit do without. */
const SERVER_PACKAGE = "parkade-server";

type Server = { serve(options: { port?: string; dataDir?: string; demo: boolean }): Promise<void> };

/** Runs Parkade in this process until a signal ends it; the server sets the exit code and ends the process. */
export async function serve({ line, terminal }: Pick<Call, "line" | "terminal">): Promise<number> {
  let server: Server;
  try {
    server = await import(SERVER_PACKAGE);
  } catch (error) {
    if (!(error instanceof Error) || !error.message.includes(`'${SERVER_PACKAGE}'`)) throw error;
    terminal.say(
      `parkade: the package ${SERVER_PACKAGE} is not installed beside parkade. No registry has it: \`npm run pack:server\` in a clone of Parkade makes it, then \`npm install /path/to/dist-kit/${SERVER_PACKAGE}-VERSION.tgz\` here. In the clone itself use \`npm start\`.`,
    );
    return EXIT.refused;
  }
  const [port, dataDir] = [line.text("port") ?? undefined, line.text("data-dir") ?? undefined];
  await server.serve({ port, dataDir, demo: line.flag("demo") });
  return EXIT.done;
}
