"use client";

import { useQueryClient } from "@tanstack/react-query";
import { causeViews } from "@/components/redrive/page/cause-words";
import { ActionButton } from "@/components/ui/action-button";
import { ErrorPanel, ReadError } from "@/components/ui/error-panel";
import { useSubmit } from "@/components/ui/use-submit";
import { randomKey } from "@/lib/platform/browser/random-key.browser";
import { plural } from "@/lib/platform/plain/format.pure";
import { requestRedrive, useRedriveCauses, useRedrivePreview } from "@/lib/redrive/redrives.browser";
import type { RedriveOut } from "@/lib/redrive/redrives.shapes";

const CAUSES_SHOWN = 3;

/**
 * Of a dry run of what a mend changed: the events that earlier versions hold, by which versions, and a dry run that takes
 * these along. A mend of the held events would not help them.
 */
export function MendHeld(props: {
  /** The bulk operation. */
  mend: string;
  redrive: RedriveOut;
  onVerify: (redriveId: string) => void;
}) {
  const { mend, redrive, onVerify } = props;
  const client = useQueryClient();
  const { busy, error, submit } = useSubmit();
  const held = redrive.refusedByReason["held-by-head"] ?? 0;
  const select = { operation: mend };
  const along = redrive.earlier === "include";
  const preview = useRedrivePreview({ select, mode: "verify", lane: redrive.lane, sample: false }, held > 0 && !along);
  const causes = useRedriveCauses(redrive.id, false);
  if (held === 0) return null;
  const texts = causeViews(causes.data?.causes ?? []).find(({ result }) => result === "held-by-head")?.texts ?? [];
  const { earlier } = preview.data ?? {};
  // Unknown in time = null: they are offered without their number.
  const outside = along ? 0 : (earlier?.earlierEvents ?? null);
  const earlierWords =
    outside === null ? "earlier versions" : outside === 1 ? "earlier version" : plural(outside, "earlier version");
  const verify = () =>
    submit(async () => {
      const { lane, reason } = redrive;
      const request = { select, mode: "verify" as const, lane, earlier: "include" as const, reason };
      const accepted = await requestRedrive(client, { idempotencyKey: randomKey(), request });
      onVerify(accepted.id);
    });
  return (
    <section
      aria-label="Held by earlier versions"
      className="grid gap-2 rounded-md border border-l-2 border-warning px-3 py-2"
    >
      <p>{plural(held, "event")} cannot be sent yet: an earlier version of the same aggregate goes first.</p>
      <ReadError read={causes} />
      <ul className="grid gap-0.5 text-sm text-muted">
        {texts.slice(0, CAUSES_SHOWN).map(({ text }) => (
          <li key={text} className="wrap-anywhere">
            {text}
          </li>
        ))}
        {texts.length > CAUSES_SHOWN ? <li>and more</li> : null}
      </ul>
      <ReadError read={preview} />
      {error ? <ErrorPanel error={error} inline title="The dry run was not started" /> : null}
      {preview.isPending && !along ? null : (
        <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
          <ActionButton
            needs="redrive"
            variant={redrive.passed > 0 ? "secondary" : "primary"}
            busy={busy}
            onClick={() => void verify()}
          >
            {outside === 0 ? "Verify again" : `Include the ${earlierWords}`}
          </ActionButton>
          <span className="text-sm text-faint">
            {outside === 0
              ? "After the first version is mended, released or sent."
              : "A dry run of all of them, in their order; it sends nothing."}
          </span>
        </div>
      )}
    </section>
  );
}
