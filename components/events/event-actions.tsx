"use client";

import { useQueryClient } from "@tanstack/react-query";
import { useRouter } from "next/navigation";
import { useState } from "react";
import { redriveOne } from "@/components/redrive/one-click/one-click";
import { ActionButton } from "@/components/ui/action-button";
import { lazily } from "@/components/ui/lazily";
import { MenuButton } from "@/components/ui/popup-button";
import { showToast } from "@/components/ui/toast";
import type { EventDetail } from "@/lib/events/events.shapes";
import { useMe, useRefusal } from "@/lib/guard/viewer/me.browser";
import { useNow } from "@/lib/platform/browser/clock-zone.browser";
import { useHotkeys } from "@/lib/platform/browser/hotkeys.browser";
import { asksFirst, whyNotEdit, whyNotRedrive, whyNotRemove, whyNotRevise } from "./action-rules";
import { curlRead, curlRedrive, curlReplay } from "./curl";
import { isBehind } from "./event-state";

const BulkDialog = lazily(() => import("@/components/events/bulk/bulk-dialog"), "BulkDialog");
const RemoveDialog = lazily(() => import("@/components/keep/removal/remove-dialog"), "RemoveDialog");
const ControlDialog = lazily(() => import("@/components/order/controls/control-dialog"), "ControlDialog");

const RedriveDialog = lazily(() => import("@/components/redrive/dialog/redrive-dialog"), "RedriveDialog");
const RedriveConfirm = lazily(() => import("./redrive-confirm"), "RedriveConfirm");

type Open = "redrive" | "order" | "ignore" | "release" | "remove" | "cooldown" | "blacklist" | "whitelist" | null;

/** What can be done to an event now, and the dialog that is open. */
function useEventActions(event: EventDetail, keyboard: boolean) {
  const client = useQueryClient();
  const router = useRouter();
  const now = useNow();
  const [open, setOpen] = useState<Open>(null);
  const [busy, setBusy] = useState(false);
  const refusal = whyNotRedrive(event, now);
  const mayNotEdit = useRefusal("edit");
  const mayNotRedrive = useRefusal("redrive");
  const mayNotReveal = useRefusal("reveal");
  // Who may reveal does so beside the editor.
  const noEdit = mayNotEdit ?? (mayNotReveal === null ? whyNotRevise(event) : whyNotEdit(event));
  const ignoring = event.status === "IGNORED" ? "release" : "ignore";

  const send = async (mode: "deliver" | "verify") => {
    if (busy) return;
    setBusy(true);
    await redriveOne(client, event, mode, router.push, () => setOpen("order"));
    setBusy(false);
  };
  // A parked earlier version would hold the event, so a dialog asks about that version and nothing is sent.
  const behind = isBehind(
    event,
    event.aggregate.find((member) => member.head),
  );
  const redrive = () => {
    if (refusal !== null) return;
    if (behind || asksFirst(event)) setOpen("order");
    else void send("deliver");
  };
  const edit = () => {
    const params = new URLSearchParams(window.location.search);
    params.delete("open");
    params.set("edit", "1");
    router.push(`/events/${event.id}?${params}`);
  };
  useHotkeys(
    {
      r: () => setOpen("redrive"),
      v: () =>
        mayNotRedrive === null
          ? void send("verify")
          : void showToast({ title: "It was not verified", detail: mayNotRedrive, tone: "error" }),
      i: () => setOpen(ignoring),
      e: () => (noEdit === null ? edit() : void showToast({ title: "It cannot be edited now", detail: noEdit })),
    },
    keyboard,
  );
  return { open, setOpen, busy, refusal, noEdit, ignoring, send, redrive, edit } as const;
}

/** The actions on one event. Redrive is one click, with Undo in the toast; its key asks first. */
export function EventActions(props: { event: EventDetail; keyboard?: boolean; size?: "sm" | "md" }) {
  const { event, keyboard = false, size } = props;
  const { open, setOpen, busy, refusal, noEdit, ignoring, send, redrive, edit } = useEventActions(event, keyboard);
  const noRemove = whyNotRemove(event);
  const { data: me } = useMe();
  const signIn = me !== undefined && !me.signIn.open;
  return (
    <>
      <ActionButton
        needs="redrive"
        variant="primary"
        size={size}
        refusal={refusal}
        data-command="Redrive this event"
        aria-disabled={busy}
        data-tip="Sends it again on the slow lane after 5 s. You can undo it until then."
        onClick={redrive}
      >
        Redrive
      </ActionButton>
      <ActionButton
        needs="redrive"
        size={size}
        data-command="Verify this event"
        aria-disabled={busy}
        data-tip="Dry run only, nothing is sent  v"
        onClick={() => void send("verify")}
      >
        Verify
      </ActionButton>
      <ActionButton
        needs="edit"
        size={size}
        refusal={noEdit}
        data-command="Edit this event"
        data-tip="Edit its payload and headers  e"
        onClick={edit}
      >
        Edit
      </ActionButton>
      <ActionButton
        needs={ignoring}
        size={size}
        data-command={ignoring === "release" ? "Release this event…" : "Ignore this event…"}
        onClick={() => setOpen(ignoring)}
        data-tip="i"
      >
        {ignoring === "release" ? "Release…" : "Ignore…"}
      </ActionButton>
      <MenuButton
        name="More actions"
        label={<span aria-hidden>⋯</span>}
        tip="More actions"
        size={size}
        entries={[
          { id: "cooldown", needs: "control", label: "Cool down…", onSelect: () => setOpen("cooldown") },
          { id: "blacklist", needs: "control", label: "Blacklist…", onSelect: () => setOpen("blacklist") },
          { id: "whitelist", needs: "control", label: "Whitelist…", onSelect: () => setOpen("whitelist") },
          {
            id: "remove",
            needs: "remove",
            label: "Remove…",
            danger: true,
            disabled: noRemove !== null,
            hint: noRemove,
            onSelect: () => setOpen("remove"),
          },
          { kind: "separator", id: "separator" },
          { kind: "heading", id: "curl", label: "Copy as curl" },
          copyEntry({
            id: "curl-redrive",
            label: "Redrive the event",
            purpose: "redrive it",
            command: (origin) => curlRedrive({ origin, signIn }, event),
          }),
          copyEntry({
            id: "curl-read",
            label: "Get the event",
            purpose: "read it",
            command: (origin) => curlRead({ origin, signIn }, event.id),
          }),
          copyEntry({
            id: "curl-replay",
            label: "Send the payload to another service",
            purpose: "send its payload",
            command: (origin) => curlReplay({ origin, signIn }, event),
          }),
        ]}
      />
      {open === "redrive" ? (
        <RedriveConfirm event={event} refusal={refusal} onConfirm={redrive} onClose={() => setOpen(null)} />
      ) : null}
      {open === "order" ? (
        <RedriveDialog selection={{ ids: [event.id] }} total={1} onClose={() => setOpen(null)} />
      ) : null}
      {open === "ignore" || open === "release" ? (
        <BulkDialog kind={open} selection={{ ids: [event.id] }} total={1} onClose={() => setOpen(null)} />
      ) : null}
      {open === "remove" ? (
        <RemoveDialog selection={{ ids: [event.id] }} total={1} onClose={() => setOpen(null)} />
      ) : null}
      {open === "cooldown" || open === "blacklist" || open === "whitelist" ? (
        <ControlDialog kind={open} scope={scopeOf(event)} selected={1} onClose={() => setOpen(null)} />
      ) : null}
    </>
  );
}

/** A menu entry that copies a shell command. `purpose` says in the toast what the command does. */
function copyEntry(props: { id: string; label: string; purpose: string; command: (origin: string) => string }) {
  const { id, label, purpose, command } = props;
  const onSelect = () =>
    navigator.clipboard?.writeText(command(window.location.origin)).then(
      () => void showToast({ title: `Copied: ${purpose}` }),
      () => void showToast({ title: "Could not copy", tone: "error" }),
    );
  return { id, label, needs: null, onSelect };
}

/** The aggregate of the event, or the event alone. */
function scopeOf({ source, eventId, aggregateId, aggregateType }: EventDetail) {
  if (aggregateId === null) return { eventId, source };
  return { aggregateId, source, ...(aggregateType === null ? {} : { aggregateType }) };
}
