import type { Command } from "@/lib/cli/command";

const dataDir = { name: "data-dir", value: "folder", text: "In place of PARKADE_DATA_DIR" } as const;
const file = { name: "file" } as const;

export const PROGRAM_COMMANDS = [
  {
    name: "serve",
    summary: "Start Parkade on this machine",
    options: [
      { name: "port", value: "n", text: "In place of PORT" },
      { name: "data-dir", value: "folder", text: "In place of PARKADE_DATA_DIR" },
      { name: "demo", text: "Also load dead letters to try it with, and a flaky service that takes them" },
    ],
    details:
      "Starts the embedded PostgreSQL (or uses DATABASE_URL), migrates it, and starts console and worker, which were built before. It needs the package parkade-server beside parkade; in a clone `npm start` does the same. Ctrl-C or SIGTERM stops all of it in order.",
    examples: ["parkade serve", "parkade serve --port 8080 --data-dir /var/lib/parkade"],
  },
  {
    name: "completion",
    summary: "Print the completion script of a shell",
    arguments: [{ name: "shell", values: ["bash", "zsh"] }],
    details: "The script asks `parkade` itself, so it stays right after an update.",
    examples: ["source <(parkade completion bash)", "parkade completion zsh > ~/.zfunc/_parkade"],
  },
  {
    name: "backup",
    summary: "Write all of the store into a file, as it is at one moment",
    arguments: [{ name: "file or folder" }],
    options: [dataDir],
    details:
      "In a folder the file gets a name with the time; a folder that ends in / is made when it is missing, any other name that is missing is the file. Parkade may run meanwhile. The file holds payloads and personal data, and neither the queue, nor the objects of the archive, nor secrets: docs/backup.md lists what is in it. It never replaces a file. It needs the package parkade-server beside parkade; in a clone `npm run backup -- <file>` does the same.",
    examples: ["parkade backup /srv/backups", "parkade backup parkade.tar --data-dir /var/lib/parkade"],
  },
  {
    name: "backup check",
    summary: "Read a backup once, and say whether it is whole and what it holds",
    arguments: [file],
    details: "It needs no database. A damaged file is refused with the table that is damaged.",
    examples: ["parkade backup check /srv/backups/parkade-2026-11-25-224758Z.tar"],
  },
  {
    name: "backup restore",
    summary: "Put a backup into an empty database",
    arguments: [file],
    options: [dataDir],
    details:
      "Stop web and workers first. Only an empty database is taken: of DATABASE_URL, or of a new folder. Each table is loaded, read back and compared; an older backup is migrated to this release; and the archive is looked at for the objects that the store names. All sends are stopped then, until you lift the stop with `parkade go`. A restore that was ended before its end goes on when it is run again.",
    examples: ["parkade backup restore /srv/backups/parkade-2026-11-25-224758Z.tar --data-dir /var/lib/parkade-new"],
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
  },
] as const satisfies readonly Command[];
