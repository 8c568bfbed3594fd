import type { Call } from "@/lib/cli/call";
import { type Command, EXIT } from "@/lib/cli/command";

const dataDir = { name: "data-dir", value: "folder", text: "Instead of PARKADE_DATA_DIR" } as const;
const file = { name: "file" } as const;

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
async function backup({ line, terminal }: Local, action: BackupCommand["action"]): Promise<number> {
  const server = await loadServer(terminal);
  if (server === null) return EXIT.refused;
  const [dataDir, actor] = [line.text("data-dir") ?? undefined, line.text("actor") ?? undefined];
  await server.backup({ action, path: line.arguments[0]!, dataDir, actor, json: line.flag("json") });
  return Number(process.exitCode ?? EXIT.done);
}

/** Decides recorded attempts again, whether or not Parkade is running. */
async function replay({ line, terminal }: Local): Promise<number> {
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

export type Shell = "bash" | "zsh";

/** The word by which the scripts ask for candidates. */
export const COMPLETE_WORD = "__complete";

/** `COMP_WORDS` splits at `=`; the word under the cursor ends the list. Without a candidate bash offers files. */
const BASH = `_parkade() {
  local IFS=$'\\n'
  COMPREPLY=($(parkade ${COMPLETE_WORD} bash "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _parkade parkade
`;

const ZSH = `#compdef parkade
_parkade() {
  local -a found
  found=("\${(@f)$(parkade ${COMPLETE_WORD} zsh "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  [[ -n "$found" ]] && compadd -- "\${found[@]}" || _files
}
if [[ "\${funcstack[1]}" = _parkade ]]; then _parkade "$@"; else compdef _parkade parkade; fi
`;

const SCRIPTS: Record<Shell, string> = { bash: BASH, zsh: ZSH };

export const PROGRAM_COMMANDS: readonly Command[] = [
  {
    name: "serve",
    summary: "Start Parkade on this machine",
    options: [
      { name: "port", value: "n", text: "Instead of PORT" },
      { name: "data-dir", value: "folder", text: "Instead of PARKADE_DATA_DIR" },
      { name: "demo", text: "Also load demo dead letters, and a flaky service that receives them" },
    ],
    details:
      "Starts the embedded PostgreSQL (or uses DATABASE_URL), migrates it, and starts console and worker, which were built before. It needs the package parkade-server beside parkade; in a clone `npm start` does the same. Ctrl-C or SIGTERM stops all of it in order.",
    examples: ["parkade serve", "parkade serve --port 8080 --data-dir /var/lib/parkade"],
    run: serve,
  },
  {
    name: "completion",
    summary: "Print the completion script of a shell",
    arguments: [{ name: "shell", values: ["bash", "zsh"] }],
    details: "The script asks `parkade` itself, so it stays correct after an update.",
    examples: ["source <(parkade completion bash)", "parkade completion zsh > ~/.zfunc/_parkade"],
    run: async ({ line, terminal }) => {
      await terminal.print(SCRIPTS[line.arguments[0] as Shell]);
      return EXIT.done;
    },
  },
  {
    name: "backup",
    summary: "Write a consistent backup of the whole store to a file",
    arguments: [{ name: "file or folder" }],
    options: [dataDir],
    details:
      "In a folder the file gets a name with the time; a folder that ends in / is made when it is missing, any other name that is missing is the file. Parkade may run meanwhile. The file holds payloads and personal data, and neither the queue, nor the objects of the archive, nor secrets: docs/backup.md lists what is in it. It never replaces a file. It needs the package parkade-server beside parkade; in a clone `npm run backup -- <file>` does the same.",
    examples: ["parkade backup /srv/backups", "parkade backup parkade.tar --data-dir /var/lib/parkade"],
    run: (call) => backup(call, null),
  },
  {
    name: "backup check",
    summary: "Check that a backup is complete, and show what it contains",
    arguments: [file],
    details: "It needs no database. A damaged file is refused with the table that is damaged.",
    examples: ["parkade backup check /srv/backups/parkade-2026-11-25-224758Z.tar"],
    run: (call) => backup(call, "check"),
  },
  {
    name: "backup restore",
    summary: "Restore a backup into an empty database",
    arguments: [file],
    options: [dataDir],
    details:
      "Stop web and workers first. Only an empty database is accepted: of DATABASE_URL, or of a new folder. Each table is loaded, read back and compared; an older backup is migrated to this release; and the archive is checked for the objects that the store names. All sends are stopped then, until you lift the stop with `parkade go`. An interrupted restore continues when it is run again.",
    examples: ["parkade backup restore /srv/backups/parkade-2026-11-25-224758Z.tar --data-dir /var/lib/parkade-new"],
    run: (call) => backup(call, "restore"),
  },
  {
    name: "replay",
    summary: "Decide the recorded attempts of a redrive again, and show where the engine differs",
    arguments: [{ name: "redrive" }, { name: "event", optional: true }],
    options: [{ name: "policy", value: "name", text: "What this policy would have done" }, dataDir],
    details:
      "Decides each failure again from what was recorded with it. The exit code is 1 when a decision differs from the recorded one; with --policy it is always 0. It needs the package parkade-server beside parkade; in a clone `npm run replay -- <redrive>` does the same.",
    examples: [
      "parkade replay 019ac0de-0000-7000-8000-000000000001",
      "parkade replay 019ac0de-0000-7000-8000-000000000001 --policy patient",
    ],
    run: replay,
  },
];
