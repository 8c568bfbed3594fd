import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { connectCommands } from "@/components/observe/overview/connect-commands";
import { kindOf, parseSourceConfig } from "@/lib/brokers/kinds/kinds.shapes";

const http = kindOf("http");

/** The arguments that a shell passes to curl. */
function args(command: string): string[] {
  const print = 'for part in "$@"; do printf "%s\\0" "$part"; done';
  const script = `curl() { ${print}; }\n${command}`;
  return execFileSync("sh", ["-c", script], { encoding: "utf8" }).split("\0").slice(0, -1);
}

describe("commands to connect a source", () => {
  it("make a source first when there is none", () => {
    const commands = connectCommands("http://127.0.0.1:3111", null, http);
    expect(commands.map((command) => args(command.text)[0])).toEqual([
      "http://127.0.0.1:3111/api/v1/sources",
      "http://127.0.0.1:3111/api/v1/events",
    ]);
    const [made, parked] = commands.map((command) => JSON.parse(args(command.text).at(-1)!));
    expect(parseSourceConfig(made.kind, made.config).kind).toBe("http");
    expect(parked.source).toBe(made.name);
  });

  it("survive a shell whatever the source is called", () => {
    const name = `it's "$HOME"; \`rm\` \\`;
    const [park] = connectCommands("http://127.0.0.1:3111", name, http);
    expect(JSON.parse(args(park!.text).at(-1)!)).toMatchObject({ source: name, errorCode: "TIMEOUT" });
  });
});
