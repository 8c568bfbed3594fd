"use client";

import { useState } from "react";
import { ActionButton } from "@/components/ui/action-button";
import { Button } from "@/components/ui/button";
import { ErrorPanel } from "@/components/ui/error-panel";
import { lazily } from "@/components/ui/lazily";
import type { MenuEntry } from "@/components/ui/menu";
import { MenuButton } from "@/components/ui/popup-button";
import { showToast } from "@/components/ui/toast";
import type { KindOut } from "@/lib/sources/kinds.shapes";
import { useProbe, useSaveSource } from "@/lib/sources/sources.browser";
import type { SourceOut } from "@/lib/sources/sources.shapes";
import type { EndingMode } from "./mode-dialog";
import { ProbeResult } from "./probe-result";

const DeleteDialog = lazily(() => import("./delete-dialog"), "DeleteDialog");
const EditSourceDialog = lazily(() => import("@/components/sources/form/edit-source-dialog"), "EditSourceDialog");
const ModeDialog = lazily(() => import("./mode-dialog"), "ModeDialog");

const ENDINGS: { mode: EndingMode; label: string; from: SourceOut["mode"][] }[] = [
  { mode: "paused", label: "Pause…", from: ["running", "draining"] },
  { mode: "draining", label: "Drain…", from: ["running", "paused"] },
  { mode: "stopped", label: "Stop…", from: ["running", "paused", "draining"] },
];

/** What can be done with a source: its buttons with their dialogs, and the results of the last ones; null = there are none. */
export function useSourceActions(
  source: SourceOut,
  kind: KindOut | null,
  { onDeleted }: { onDeleted?: () => void } = {},
) {
  const probe = useProbe();
  const save = useSaveSource(source.name);
  const [open, setOpen] = useState<"edit" | "delete" | EndingMode | null>(null);
  const close = () => setOpen(null);
  const reads = kind?.capabilities.reads ?? false;
  const resume = async () => {
    try {
      await save.mutateAsync({ mode: "running" });
    } catch {
      return; // shown from save.error
    }
    void showToast({
      title: `${source.mode === "stopped" ? "Started" : "Resumed"} ${source.name}`,
      action: { label: "Undo", onSelect: () => save.mutate({ mode: source.mode }) },
    });
  };
  const entries: MenuEntry[] = [
    ...(reads ? ENDINGS : ENDINGS.filter(({ mode }) => mode === "stopped"))
      .filter(({ from }) => from.includes(source.mode))
      .map(({ mode, label }) => ({ id: mode, label, needs: "change-source" as const, onSelect: () => setOpen(mode) })),
    { kind: "separator", id: "line" },
    { id: "delete", label: "Delete…", needs: "change-source", danger: true, onSelect: () => setOpen("delete") },
  ];
  const buttons = (
    <div className="flex flex-wrap justify-end gap-2">
      {source.mode === "running" ? null : (
        <ActionButton needs="change-source" size="sm" busy={save.isPending} onClick={resume}>
          {source.mode === "stopped" ? "Start" : "Resume"}
        </ActionButton>
      )}
      <Button
        needs="change-source"
        size="sm"
        busy={probe.isPending}
        onClick={() => probe.mutate({ name: source.name })}
      >
        Probe
      </Button>
      <Button needs="change-source" size="sm" disabled={kind === null} onClick={() => setOpen("edit")}>
        Edit…
      </Button>
      <MenuButton name={`More for ${source.name}`} label="▾" size="sm" entries={entries} />
      {open === "edit" && kind ? <EditSourceDialog source={source} kind={kind} onClose={close} /> : null}
      {open === "delete" ? <DeleteDialog source={source} onClose={close} onDeleted={onDeleted} /> : null}
      {open === "paused" || open === "draining" || open === "stopped" ? (
        <ModeDialog source={source} mode={open} onClose={close} />
      ) : null}
    </div>
  );
  const results =
    save.isError || probe.isError || probe.data ? (
      <>
        {save.isError ? <ErrorPanel error={save.error} inline title="Request failed" /> : null}
        {probe.isError ? <ErrorPanel error={probe.error} inline title="The probe failed" /> : null}
        {probe.data ? <ProbeResult probe={probe.data} onClose={() => probe.reset()} /> : null}
      </>
    ) : null;
  return { buttons, results };
}
