import { readFileSync } from "node:fs";
import { type Call, printAnswer, requestKey } from "@/lib/cli/call";
import { UsageError } from "@/lib/cli/command";
import { printTable } from "@/lib/cli/lists";
import { findEvent } from "@/lib/cli/show";
import { factsText } from "@/lib/cli/table";
import { formatBytes } from "@/lib/platform/plain/format.pure";
import type { EditedAnswer, RevisedAnswer, RevisionList } from "@/lib/repair/revisions/revisions.shapes";

export async function listRevisions(call: Call): Promise<number> {
  const { id } = await findEvent(call, call.line.arguments[0]!);
  const answer = await call.api.get<RevisionList>(`api/v1/events/${id}/revisions`);
  return printTable(call, answer, [
    ["revision", ({ revision, current }) => `${revision}${current ? " (current)" : ""}`],
    "cause",
    ["from", "base"],
    ["size", ({ bytes }) => formatBytes(bytes)],
    "sends",
    "at",
    ["by", "actor"],
    "reason",
  ]);
}

export async function edit(call: Call): Promise<number> {
  const { line } = call;
  const payload = readFile(line.text("file")!, call);
  return revise(call, "", {
    base: Number(line.text("base")),
    base64: payload.toString("base64"),
    ...(line.flag("breaking") ? { breaking: true } : {}),
    contentType: line.text("content-type") ?? undefined,
  });
}

export async function restore(call: Call): Promise<number> {
  const { line } = call;
  return revise(call, "/restore", { base: Number(line.text("base")), revision: Number(line.text("revision")) });
}

async function revise(call: Call, path: string, change: object): Promise<number> {
  const { line, api } = call;
  const { id } = await findEvent(call, line.arguments[0]!);
  const body = { ...change, reason: line.text("reason") };
  const key = requestKey(call);
  const answer = await api.change<RevisedAnswer & Partial<EditedAnswer>>(`api/v1/events/${id}/revisions${path}`, {
    method: "POST",
    body,
    key,
  });
  return printAnswer(call, answer, () =>
    factsText([
      ["event", answer.id],
      ["revision", answer.revision],
      ...(answer.problems ?? []).map(({ detail }): [string, string] => ["no redrive sends it", detail]),
    ]),
  );
}

function readFile(name: string, { line }: Call): Buffer {
  try {
    return readFileSync(name);
  } catch {
    throw new UsageError(`--file: ${JSON.stringify(name)} cannot be read`, line.command);
  }
}
