import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { secretFiles } from "./secret-files";

let root: string;
let folder: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "parkade-secrets-"));
  folder = join(root, "secrets");
  mkdirSync(folder);
  writeFileSync(join(root, "outside"), "of another");
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const write = (name: string, content: string | Buffer) => writeFileSync(join(folder, name), content);
const read = (name: string) => secretFiles(folder)(join(folder, name));

test("reads a file without the line break at its end, and anew each time", () => {
  write("token", "first\n");
  expect(read("token")).toBe("first");
  write("token", " second \r\n");
  expect(read("token")).toBe(" second ");
  write("token", "two\nlines\n");
  expect(read("token")).toBe("two\nlines");
});

test("reads what an orchestrator links to inside of the folder, and follows it when it changes", () => {
  for (const [version, text] of [
    ["..v1", "old"],
    ["..v2", "new"],
  ] as const) {
    mkdirSync(join(folder, version));
    writeFileSync(join(folder, version, "token"), text);
  }
  symlinkSync("..v1", join(folder, "..data"));
  symlinkSync(join("..data", "token"), join(folder, "token"));
  expect(read("token")).toBe("old");
  rmSync(join(folder, "..data"));
  symlinkSync("..v2", join(folder, "..data"));
  expect(read("token")).toBe("new");
});

test("reads nothing outside: by dots, by a link to a file or a folder, or beside the folder", () => {
  symlinkSync(join(root, "outside"), join(folder, "link"));
  symlinkSync(root, join(folder, "up"));
  mkdirSync(join(root, "secrets-of-others"));
  writeFileSync(join(root, "secrets-of-others", "x"), "of another");
  for (const path of ["../outside", "link", "up/outside", "../secrets-of-others/x"]) expect(read(path)).toBeUndefined();
  expect(secretFiles(folder)("/etc/passwd")).toBeUndefined();
  expect(secretFiles(null)(join(folder, "link"))).toBeUndefined();
});

test("reads no folder, no device, nothing that is missing and nothing larger than 64 KiB", () => {
  write("large", Buffer.alloc(64 * 1024 + 1, "x"));
  write("largest", Buffer.alloc(64 * 1024, "x"));
  mkdirSync(join(folder, "inner"));
  symlinkSync("/dev/zero", join(folder, "zero"));
  for (const name of ["large", "inner", "zero", "missing", "."]) expect(read(name), name).toBeUndefined();
  expect(read("largest")).toHaveLength(64 * 1024);
});
