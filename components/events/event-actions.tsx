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
import { useNow } from "@/lib/platform/browser/clock-zone.browser";
import { useHotkeys } from "@/lib/platform/browser/hotkeys.browser";
import { whyNotEdit, whyNotRedrive } from "./action-rules";
import { isBehind } from "./aggregate-order";
import { curlRead, curlRedrive, curlReplay } from "./curl";

const BulkDialog = lazily(() => import("@/components/events/bulk/bulk-dialog"), "BulkDialog");
const ControlDialog = lazily(() => import("@/components/order/controls/control-dialog"), "ControlDialog");

const RedriveDialog = lazily(() => import("@/components/redrive/dialog/redrive-dialog"), "RedriveDialog");
const RedriveConfirm = lazily(() => import("./redrive-confirm"), "RedriveConfirm");

type Open = "redrive" | "order" | "ignore" | "release" | "cooldown" | "blacklist" | "whitelist" | null;

function copyText(text: string, what: string): void {
  navigator.clipboard?.writeText(text).then(
    () => void showToast({ title: `Copied: ${what}` }),
    () => void showToast({ title: "The browser refused to copy", tone: "error" }),
  );
}

/** The actions on one event. Redrive is one click, with Undo in the toast; its key asks first. */
export function EventActions({
  event,
  keyboard,
  size,
}: {
  event: EventDetail;
  keyboard?: boolean;
  size?: "sm" | "md";
}) {
  const client = useQueryClient();
  const router = useRouter();
  const now = useNow();
  const [open, setOpen] = useState<Open>(null);
  const [busy, setBusy] = useState(false);
  const refusal = whyNotRedrive(event, now);
  const ignored = event.status === "IGNORED";

  const send = async (mode: "deliver" | "verify") => {
    if (busy) return;
    setBusy(true);
    await redriveOne(
      client,
      event,
      mode,
      (href) => router.push(href),
      () => setOpen("order"),
    );
    setBusy(false);
  };
  // A parked earlier version would hold the event, so a dialog asks about that version and nothing is sent.
  const behind = isBehind(
    event,
    event.aggregate.find((member) => member.head),
  );
  // The dialog asks for the confirmation that admission wants.
  const asks = event.admission === "early" || event.admission === "confirm";
  const redrive = () => {
    if (refusal !== null) return;
    if (behind || asks) setOpen("order");
    else void send("deliver");
  };
  useHotkeys(
    {
      r: () => setOpen("redrive"),
      v: () => void send("verify"),
      i: () => setOpen(ignored ? "release" : "ignore"),
      e: () => (noEdit === null ? edit() : void showToast({ title: "It cannot be edited now", detail: noEdit })),
    },
    keyboard === true,
  );
  const noEdit = whyNotEdit(event);
  const edit = () => {
    const params = new URLSearchParams(window.location.search);
    params.delete("open");
    params.set("edit", "1");
    router.push(`/events/${event.id}?${params}`);
  };
  const { source, aggregateId, aggregateType } = event;
  const scope =
    aggregateId === null
      ? { eventId: event.eventId, source }
      : { aggregateId, source, ...(aggregateType === null ? {} : { aggregateType }) };

  return (
    <>
      <ActionButton
        variant="primary"
        size={size}
        aria-disabled={refusal !== null || busy}
        data-tip={refusal ?? "Send it again on the slow lane after 5 s, with Undo until then"}
        className="aria-disabled:pointer-events-auto"
        onClick={redrive}
      >
        Redrive
      </ActionButton>
      <ActionButton
        size={size}
        aria-disabled={busy}
        data-tip="Dry run only, nothing is sent  v"
        onClick={() => void send("verify")}
      >
        Verify
      </ActionButton>
      <ActionButton
        size={size}
        aria-disabled={noEdit !== null}
        data-tip={noEdit ?? "Edit its payload and headers  e"}
        className="aria-disabled:pointer-events-auto"
        onClick={() => (noEdit === null ? edit() : undefined)}
      >
        Edit
      </ActionButton>
      <ActionButton size={size} onClick={() => setOpen(ignored ? "release" : "ignore")} data-tip="i">
        {ignored ? "Release…" : "Ignore…"}
      </ActionButton>
      <MenuButton
        name="More actions"
        label={<span aria-hidden>⋯</span>}
        tip="More actions"
        size={size}
        align="end"
        entries={[
          { id: "cooldown", label: "Cooldown…", onSelect: () => setOpen("cooldown") },
          { id: "blacklist", label: "Blacklist…", onSelect: () => setOpen("blacklist") },
          { id: "whitelist", label: "Whitelist…", onSelect: () => setOpen("whitelist") },
          { kind: "separator", id: "separator" },
          { kind: "heading", id: "curl", label: "Copy as curl" },
          {
            id: "curl-redrive",
            label: "Redrive it",
            onSelect: () => copyText(curlRedrive(window.location.origin, event), "redrive it"),
          },
          {
            id: "curl-read",
            label: "Read it",
            onSelect: () => copyText(curlRead(window.location.origin, event.id), "read it"),
          },
          {
            id: "curl-replay",
            label: "Send its payload to a service of yours",
            onSelect: () => copyText(curlReplay(window.location.origin, event), "send its payload"),
          },
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
      {open === "cooldown" || open === "blacklist" || open === "whitelist" ? (
        <ControlDialog kind={open} scope={scope} onClose={() => setOpen(null)} />
      ) : null}
    </>
  );
}
