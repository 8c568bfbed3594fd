import { backUp, restore } from "@/lib/keep/backup/testing/backups";

/**
 * A process that is killed with -9 while it takes or restores a backup: by itself, as soon as it says a line that begins with `diesAt`.
 * Started with what it needs as one JSON argument.
 */
const { action, url, path, diesAt } = JSON.parse(process.argv[2]!) as {
  action: "backup" | "restore";
  url: string;
  path: string;
  diesAt: string;
};
const say = (line: string) => {
  if (line.startsWith(diesAt)) process.kill(process.pid, "SIGKILL");
};
await (action === "backup" ? backUp : restore)(url, path, { say });
