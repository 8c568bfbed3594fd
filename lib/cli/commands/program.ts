import type { Command } from "@/lib/cli/command";

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
] as const satisfies readonly Command[];
