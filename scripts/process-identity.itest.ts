import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { isAlive, markOf, type ProcessMark } from "./process-identity.ts";
import { takeRunLock } from "./run-lock.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "parkade-lock-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const path = () => join(dir, "run.json");
const read = () => JSON.parse(readFileSync(path(), "utf8"));

/** The lock as another process would have written it. Its parents are never those of a process that runs. */
function held({ pid: launcher, started }: ProcessMark, children: ProcessMark[] = []): void {
  writeFileSync(path(), JSON.stringify({ launcher, started, ancestors: [1, 1], children }));
}

// Elsewhere than on Linux the same facts come from `ps`.
test.runIf(process.platform === "linux")(
  "a process that has ended runs no more, and holds no lock, before its parent knows",
  async () => {
    // The shell becomes a `sleep`, which never takes the exit code of the child.
    const parent = spawn("/bin/sh", ["-c", "/bin/sh -c 'read -r _' <&3 & echo $!; exec sleep 600"], {
      stdio: ["ignore", "pipe", "ignore", "pipe"],
    });
    try {
      const [pid] = (await once(parent.stdout!, "data")).map((text) => Number(String(text)));
      // Until then the shell may take the exit code after all.
      await expect.poll(() => readFileSync(`/proc/${parent.pid}/comm`, "utf8")).toBe("sleep\n");
      expect(isAlive(pid!)).toBe(true);
      held(markOf(pid!));
      const waits = takeRunLock(dir);
      (parent.stdio[3] as NodeJS.WritableStream).end();
      await expect.poll(() => isAlive(pid!)).toBe(false);
      // A signal still finds it: it has an id until its parent ends.
      expect(process.kill(pid!, 0)).toBe(true);
      (await waits).release();
    } finally {
      parent.kill("SIGKILL");
    }
  },
);

test("of several starts that find the file of a killed one, one has the folder and the others refuse", async () => {
  held({ pid: process.pid, started: "before" });
  const module = JSON.stringify(join(import.meta.dirname, "run-lock.ts"));
  const code = `const { takeRunLock } = await import(${module});
    process.on("message", () => takeRunLock(${JSON.stringify(dir)}).then(() => process.send("taken"), (e) => process.send(e.message)));
    process.send("here");`;
  const starts = Array.from({ length: 4 }, () =>
    spawn(process.execPath, ["--input-type=module", "-e", code], { stdio: ["ignore", "inherit", "inherit", "ipc"] }),
  );
  try {
    await Promise.all(starts.map((start) => once(start, "message")));
    const answers = await Promise.all(
      starts.map(async (start) => {
        const answer = once(start, "message");
        start.send("go");
        return String((await answer)[0]);
      }),
    );
    const refused = answers.filter((answer) =>
      answer.startsWith(`Parkade already runs on ${dir} (process ${read().launcher})`),
    );
    expect(answers.filter((answer) => answer === "taken")).toHaveLength(1);
    expect(refused).toHaveLength(3);
  } finally {
    for (const start of starts) start.kill("SIGKILL");
  }
});

test("a stranger with the id of a launcher or of its child holds no lock, and is left alone", async () => {
  const stranger = spawn("/bin/sleep", ["600"], { stdio: "ignore" });
  try {
    const reused = { pid: stranger.pid!, started: "before" };
    held(reused, [reused]);
    const lock = await takeRunLock(dir);
    expect(read()).toMatchObject({ launcher: process.pid, children: [] });
    lock.note(stranger.pid!);
    expect(read().children).toEqual([markOf(stranger.pid!)]);
    lock.release();
    expect(() => read()).toThrow("ENOENT");
    expect(isAlive(stranger.pid!)).toBe(true);
  } finally {
    stranger.kill("SIGKILL");
  }
});

test("the next start waits for what a killed launcher had started", async () => {
  const child = spawn("/bin/sleep", ["600"], { stdio: "ignore" });
  held({ pid: process.pid, started: "before" }, [markOf(child.pid!)]);
  let taken = false;
  const said: string[] = [];
  const lock = takeRunLock(dir, (line) => said.push(line)).finally(() => {
    taken = true;
  });
  await expect.poll(() => said).toEqual(["Waiting for the processes of a killed start to end"]);
  expect(read()).toMatchObject({ launcher: process.pid, children: [markOf(child.pid!)] });
  expect(taken).toBe(false);
  child.kill("SIGKILL");
  (await lock).release();
});
