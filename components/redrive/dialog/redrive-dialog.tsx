"use client";

import { useRouter } from "next/navigation";
import { useRef, useState } from "react";
import { waitWords } from "@/components/guard/approvals/approval-words";
import { idempotencyKeys } from "@/components/redrive/idempotency-keys";
import { acceptedEvents, refusalSummary } from "@/components/redrive/refusal-words";
import { ActionButton } from "@/components/ui/action-button";
import { Button } from "@/components/ui/button";
import { Dialog } from "@/components/ui/dialog";
import { ErrorPanel, ReadError } from "@/components/ui/error-panel";
import { showToast } from "@/components/ui/toast";
import { useInvalidFocus } from "@/components/ui/use-invalid-focus";
import { ApiError } from "@/lib/platform/api/api-error.shapes";
import { randomKey } from "@/lib/platform/browser/random-key.browser";
import { plural } from "@/lib/platform/plain/format.pure";
import { CANARY_STEPS } from "@/lib/redrive/pace/canary.pure";
import type { PreviewOut } from "@/lib/redrive/preview/redrive-preview.shapes";
import { followedRedrives, useRedrivePreview, useRequestRedrive } from "@/lib/redrive/redrives.browser";
import type { RedriveOut } from "@/lib/redrive/redrives.shapes";
import { restoreOnUndo } from "@/lib/redrive/request/holds.browser";
import type { RedriveAnswer } from "@/lib/redrive/request/redrive-request.shapes";
import type { Selection } from "@/lib/selection/selection.shapes";
import { useTargets } from "@/lib/sources/targets/targets.browser";
import {
  buttonWords,
  draftProblems,
  earlierOf,
  isFolded,
  type RedriveDraft,
  redriveRequest,
  refusedProblems,
  sourcesOf,
  targetChoices,
  titleWords,
} from "./redrive-draft";
import { RedriveForm, RedriveFormSkeleton } from "./redrive-form";

type RedriveDialogProps = {
  /** Named events, or all events that match a filter. */
  selection: Selection;
  /** The count for the title until the preview has counted; null = unknown. */
  total: number | null;
  onClose: () => void;
  onDone?: (accepted: RedriveAnswer) => void;
  /** Called when the redrive was undone during its hold. */
  onUndone?: () => void;
  initialMode?: RedriveOut["mode"];
};

const DRAFT: RedriveDraft = {
  lane: "slow",
  target: null,
  ratePerSecond: null,
  canary: null,
  canarySteps: CANARY_STEPS.join(", "),
  brakePercent: "20",
  brakeWindow: "50",
  latencyMsMax: "",
  when: "now",
  startAt: "",
  tell: [],
  reason: "",
  typed: "",
  earlier: null,
  typedStrand: "",
  despite: [],
};

/** The previews of what is chosen. `shown`: the last one of a choice, also while another choice is counted. */
function usePreviews(selection: Selection, mode: RedriveOut["mode"], draft: RedriveDraft) {
  const { target } = draft;
  const previewOf = (lane: RedriveDraft["lane"]) => ({
    select: selection,
    mode,
    lane,
    ...(target === null ? {} : { target }),
  });
  const held = useRedrivePreview(previewOf(draft.lane));
  const earlier = earlierOf(draft);
  const { despite } = draft;
  const plain = earlier === "hold" && despite.length === 0;
  const chosen = useRedrivePreview({ ...previewOf(draft.lane), earlier, despite }, !plain && held.isSuccess);
  const current = plain ? held : chosen;
  // Only for the rate beside the other lane, so it waits until the main preview is ready.
  const other = useRedrivePreview(
    { ...previewOf(draft.lane === "slow" ? "main" : "slow"), earlier, despite, sample: false },
    current.isSuccess && target === null,
  );
  const preview = current.data;
  // `held` previews what can be sent without a further choice: it stands in for another choice only if that preview failed.
  const newest = preview ?? (current.isError ? held.data : undefined);
  const [before, setBefore] = useState<PreviewOut | undefined>();
  if (newest !== undefined && newest !== before) setBefore(newest);
  // While another lane or target is counted, or cannot be, the form stays with the focus and with the choice.
  const shown = newest ?? before;
  return { held, current, other, preview, newest, shown };
}

/** Requests the redrive of a draft, and closes the dialog. `onRefused`: the server refused a field, which may be folded. */
function useStart({ selection, onClose, onDone, onUndone }: RedriveDialogProps, onRefused: () => void) {
  const router = useRouter();
  const [keyFor] = useState(() => idempotencyKeys(randomKey));
  const request = useRequestRedrive();
  const start = async (as: RedriveOut["mode"], draft: RedriveDraft, preview: PreviewOut) => {
    const body = redriveRequest(selection, as, draft, preview);
    let accepted: RedriveAnswer;
    try {
      accepted = await request.mutateAsync({ request: body, idempotencyKey: keyFor(body) });
    } catch (error) {
      if (error instanceof ApiError && error.fields.length > 0) onRefused();
      return; // shown from request.error; the dialog stays, with everything that was typed
    }
    followedRedrives.follow(accepted.id);
    if (onUndone) restoreOnUndo(accepted.id, onUndone);
    onDone?.(accepted);
    onClose();
    void showToast({
      ...startedWords(as, accepted),
      action: { label: "View", onSelect: () => router.push(`/redrives/${accepted.id}`) },
    });
  };
  return { request, start };
}

/**
 * Previews and starts a redrive or a dry run over a selection. A started redrive runs on when the dialog closes; a
 * double click starts one redrive (see idempotency-keys).
 */
export function RedriveDialog(props: RedriveDialogProps) {
  const { selection, onClose } = props;
  const [mode, setMode] = useState(props.initialMode ?? "deliver");
  const [draft, setDraft] = useState(DRAFT);
  /** How often the button was pressed in vain; above 0 the problems are shown. */
  const [vain, setVain] = useState(0);
  const [more, setMore] = useState(false);
  const form = useInvalidFocus<HTMLDivElement>(vain);
  const button = useRef<HTMLButtonElement>(null);
  const { request, start } = useStart(props, () => {
    setMore(true);
    setVain((presses) => presses + 1);
  });
  const { held, current, other, preview, newest, shown } = usePreviews(selection, mode, draft);
  const targets = useTargets();

  const press = (as: RedriveOut["mode"]) => {
    if (!preview) return;
    const problems = draftProblems(as, draft, preview);
    if (Object.keys(problems).length === 0) return void start(as, draft, preview);
    if (isFolded(problems)) setMore(true);
    setVain(vain + 1);
  };

  const nothing = preview !== undefined && (mode === "verify" ? preview.total === 0 : preview.eligible === 0);
  const refused = request.error instanceof ApiError ? refusedProblems(request.error.fields) : {};
  const problems = vain > 0 && preview ? { ...refused, ...draftProblems(mode, draft, preview) } : {};
  return (
    <Dialog
      title={shown ? titleWords(mode, shown) : headline(mode, props.total)}
      description={mode === "verify" ? "Runs every check and sends nothing." : undefined}
      onClose={onClose}
      footer={
        <>
          {mode === "deliver" ? (
            <ActionButton
              needs="redrive"
              disabled={!preview || preview.total === 0}
              busy={request.isPending}
              onClick={() => press("verify")}
            >
              Verify only
            </ActionButton>
          ) : (
            <Button onClick={() => setMode("deliver")}>Redrive instead…</Button>
          )}
          <ActionButton
            needs="redrive"
            variant="primary"
            disabled={!preview || nothing}
            busy={request.isPending}
            ref={button}
            data-tip="Ctrl/Cmd + Enter"
            onClick={() => press(mode)}
          >
            {shown ? buttonWords(mode, shown) : mode === "verify" ? "Verify" : "Redrive"}
          </ActionButton>
        </>
      }
    >
      {/* biome-ignore lint/a11y/noStaticElementInteractions: a shortcut for the button */}
      <div
        ref={form}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
          event.preventDefault();
          // Like a click: a disabled button does nothing.
          button.current?.click();
        }}
      >
        {request.isError ? <ErrorPanel error={request.error} inline title="Request failed" /> : null}
        <ReadError read={current} stale={shown !== undefined} />
        {shown ? (
          <RedriveForm
            mode={mode}
            draft={draft}
            onDraft={setDraft}
            preview={shown}
            counting={newest === undefined}
            askedAbout={held.data}
            otherLaneRate={other.data?.ratePerSecond}
            targets={targetChoices(targets.data?.items ?? [], sourcesOf(shown, selection))}
            filtered={"filter" in selection}
            problems={problems}
            more={more}
            onMore={setMore}
          />
        ) : current.isError ? null : (
          <RedriveFormSkeleton />
        )}
      </div>
    </Dialog>
  );
}

/** Until the preview has counted: not everything that is selected can be sent. */
function headline(mode: RedriveOut["mode"], total: number | null): string {
  if (mode === "verify") return total === null ? "Verify all matching events" : `Verify ${plural(total, "event")}`;
  return total === null ? "Redrive of all matching events" : `Redrive of ${plural(total, "selected event")}`;
}

function startedWords(mode: RedriveOut["mode"], accepted: RedriveAnswer) {
  const what = mode === "verify" ? "Dry run" : "Redrive";
  const refused = refusalSummary(accepted.refusedByReason);
  if (accepted.total === null)
    return {
      title: `${what} accepted`,
      tone: "success" as const,
      detail: "Its set of events is being frozen; sending starts after that.",
    };
  const waits = waitWords(accepted.waitsFor);
  const events = plural(acceptedEvents({ ...accepted, total: accepted.total }), "event");
  if (waits !== null)
    return {
      title: `Redrive is ${waits}: ${events}`,
      tone: "neutral" as const,
    };
  return {
    title: `${what} started: ${events}`,
    tone: "success" as const,
    ...(refused === "" ? {} : { detail: `Refused: ${refused}` }),
  };
}
