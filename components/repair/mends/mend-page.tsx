"use client";

import { useQueryClient } from "@tanstack/react-query";
import { useSearchParams } from "next/navigation";
import { useDeferredValue, useEffect, useMemo, useState } from "react";
import { isUndone } from "@/components/events/bulk/bulk-words";
import { PayloadView } from "@/components/events/payload/payload-view";
import { Revealable } from "@/components/guard/masking/reveal";
import { SelectionWords } from "@/components/redrive/selection-words";
import { Button, LinkButton } from "@/components/ui/button";
import { classNames } from "@/components/ui/class-names";
import { countText } from "@/components/ui/count-text";
import { EmptyState } from "@/components/ui/empty-state";
import { ErrorPanel } from "@/components/ui/error-panel";
import { whenOpened } from "@/components/ui/lazily";
import { PageHeader } from "@/components/ui/page-header";
import { Panel } from "@/components/ui/panel";
import { Shape } from "@/components/ui/shape";
import { Skeleton } from "@/components/ui/skeleton";
import { TextLink } from "@/components/ui/text-link";
import { useSettled } from "@/components/ui/use-settled";
import { useBulkOperation } from "@/lib/events/bulk/bulk-operations.browser";
import type { CountOut, EventDetail } from "@/lib/events/events.shapes";
import { useMatches } from "@/lib/order/controls/controls.browser";
import { keys } from "@/lib/platform/browser/keys.browser";
import { plural, shortenId, visible } from "@/lib/platform/plain/format.pure";
import { useMendCounts, useMendOf, useMendSamples } from "@/lib/repair/mends/mends.browser";
import { pushAddress } from "@/lib/selection/filter/filter-url.browser";
import type { Recipe } from "@/lib/selection/operations/recipe.shapes";
import type { Selection } from "@/lib/selection/selection.shapes";
import { backToRecipe, readMendAddress, withStarted } from "./mend-address";
import { MendApply } from "./mend-apply";
import { MendLine, MendPreview } from "./mend-preview";
import { MendProgress, SendProgress, VerifyProgress } from "./mend-steps";
import { placesOf, sharedError } from "./payload-places";
import { EMPTY_DRAFT, faultsOfTyped, keptDraft, type RecipeDraft, recipeOf } from "./recipe-draft";

const RecipeEditor = whenOpened(
  () => import("./recipe-editor").then(({ RecipeEditor }) => RecipeEditor),
  <Skeleton className="h-40 w-full" />,
);

/**
 * From a recipe to the confirmed events: the recipe with its preview, the mend, its dry run, and the redrive of what
 * passed. What was started is in the address, so a reload comes back to the same step.
 */
export function MendPage() {
  const params = useSearchParams();
  // A list of ids is kept in the tab, which the server cannot read.
  const [ready, setReady] = useState(false);
  useEffect(() => setReady(true), []);
  const address = useMemo(() => (ready ? readMendAddress(new URLSearchParams(params)) : null), [params, ready]);
  const mended = useBulkOperation(address?.mend ?? null).data;
  if (address === null) return <PageHeader title="Mend" />;
  const { selection, mend, verify, send } = address;
  const started = (name: "mend" | "verify" | "send") => (id: string | null) =>
    pushAddress(withStarted(new URLSearchParams(window.location.search), name, id), "replace");
  const again = () => pushAddress(backToRecipe(new URLSearchParams(window.location.search)));
  if (selection === null && mend === null) {
    return (
      <>
        <PageHeader title="Mend" />
        <EmptyState title="No events are selected" action={<LinkButton href="/events">Find events</LinkButton>}>
          Select events in the list, or filter it, and choose Mend. A selection of individual events is known only in
          the tab where you made it.
        </EmptyState>
      </>
    );
  }
  const undone = mended !== undefined && isUndone(mended);
  const step = send !== null ? 3 : undone ? 0 : verify !== null ? 2 : mend !== null ? 1 : 0;
  return (
    <>
      <PageHeader title="Mend" meta={selection === null ? undefined : <SelectionWords selection={selection} />} />
      <Stepper step={step} />
      <div className="grid grid-cols-[minmax(0,1fr)] gap-3 px-3 pb-6">
        {mend === null && selection !== null ? <Write selection={selection} onStarted={started("mend")} /> : null}
        {mend === null ? null : (
          <Panel title={undone ? "Undone" : "Mended"} bodyClassName="p-3">
            <MendProgress
              id={mend}
              verified={verify !== null}
              sent={send !== null}
              onVerify={started("verify")}
              onAgain={selection === null ? null : again}
            />
          </Panel>
        )}
        {verify === null ? null : (
          <Panel title="Dry run of the mended events" bodyClassName="p-3">
            <VerifyProgress
              id={verify}
              mend={mend}
              sent={send !== null}
              onVerify={started("verify")}
              onSent={started("send")}
            />
          </Panel>
        )}
        {send === null ? null : (
          <Panel title="Redrive of the events that passed" bodyClassName="p-3">
            <SendProgress id={send} onAgain={() => started("send")(null)} />
          </Panel>
        )}
      </div>
    </>
  );
}

const STEPS = ["Recipe", "Mend", "Verify", "Redrive"];

function Stepper({ step }: { step: number }) {
  return (
    <ol aria-label="Steps of the repair" className="flex flex-wrap gap-x-5 gap-y-1 px-4 pb-3">
      {STEPS.map((name, at) => (
        <li
          key={name}
          aria-current={at === step ? "step" : undefined}
          className={classNames(
            "flex items-center gap-1.5",
            at === step ? "font-medium" : at < step ? "text-ok" : "text-faint",
          )}
        >
          <Shape name={at < step ? "check" : at === step ? "disc" : "ring"} />
          {name}
          {at < step ? <span className="sr-only"> started</span> : null}
        </li>
      ))}
    </ol>
  );
}

const draftKey = (selection: Selection) => `parkade.recipe.${JSON.stringify(selection)}`;

/** The recipe as it was written for these events in this tab. */
function useRecipeDraft(selection: Selection): [RecipeDraft, (draft: RecipeDraft) => void] {
  const key = draftKey(selection);
  const [draft, setDraft] = useState<RecipeDraft>(() => {
    try {
      return keptDraft(sessionStorage.getItem(key)) ?? EMPTY_DRAFT;
    } catch {
      return EMPTY_DRAFT;
    }
  });
  const set = (next: RecipeDraft) => {
    setDraft(next);
    try {
      sessionStorage.setItem(key, JSON.stringify(next));
    } catch {
      // Full or forbidden: the recipe lives as long as the page.
    }
  };
  return [draft, set];
}

function Write({ selection, onStarted }: { selection: Selection; onStarted: (operationId: string) => void }) {
  const [draft, setDraft] = useRecipeDraft(selection);
  const [pressed, setPressed] = useState(false);
  const [previewed, setPreviewed] = useState<Recipe | null>(null);
  // The same recipe previewed again reads the events as they are then.
  const [times, setTimes] = useState(0);
  const client = useQueryClient();
  const samples = useMendSamples(selection);
  const places = useMemo(() => placesOf(samples.data ?? []), [samples.data]);
  const { recipe, faults } = useMemo(() => recipeOf(draft), [draft]);
  const later = useDeferredValue(recipe);
  const sources = new Set(samples.data?.map(({ source }) => source));
  const only = "filter" in selection && selection.filter.source?.length === 1 ? selection.filter.source[0]! : null;
  const isCurrent = previewed !== null && JSON.stringify(previewed) === JSON.stringify(recipe);
  const show = () => {
    setPressed(true);
    if (recipe === null) return;
    setPreviewed(recipe);
    setTimes(times + 1);
    client.removeQueries({ queryKey: keys.mend.preview({ select: selection, recipe }) });
  };
  return (
    <>
      <Selected selection={selection} samples={samples.data ?? []} />
      <div className="grid grid-cols-[minmax(0,1fr)] items-start gap-3 lg:grid-cols-[minmax(0,3fr)_minmax(0,2fr)]">
        <Panel title="Recipe" bodyClassName="grid grid-cols-[minmax(0,1fr)] gap-3 p-3">
          <RecipeEditor
            draft={draft}
            recipe={recipe}
            faults={pressed ? faults : faultsOfTyped(draft, faults)}
            places={places}
            source={only ?? (sources.size === 1 ? [...sources][0]! : null)}
            onChange={setDraft}
          />
          <div className="flex flex-wrap items-center gap-3">
            <Button variant={isCurrent ? "secondary" : "primary"} onClick={show}>
              {previewed === null ? "Preview" : "Preview again"}
            </Button>
            {pressed && faults.length > 0 ? (
              <span role="alert" className="text-danger">
                {plural(faults.length, "part")} of the recipe {faults.length === 1 ? "is" : "are"} incomplete or
                invalid.
              </span>
            ) : (
              <span className="text-sm text-faint">A preview changes nothing.</span>
            )}
          </div>
        </Panel>
        <Sample
          events={samples.data ?? null}
          error={samples.error}
          recipe={later}
          onRetry={() => void samples.refetch()}
        />
      </div>
      {previewed === null ? null : (
        <Previewed
          key={times}
          selection={selection}
          recipe={previewed}
          sources={"filter" in selection ? (selection.filter.source ?? [...sources]) : [...sources]}
          stale={!isCurrent}
          onStarted={onStarted}
        />
      )}
    </>
  );
}

/** How many events the recipe is for, and their error when the samples share it. */
function Selected({ selection, samples }: { selection: Selection; samples: EventDetail[] }) {
  const filter = "filter" in selection ? selection.filter : null;
  const counted = useMatches(filter ?? {}, filter !== null);
  const count = "ids" in selection ? plural(selection.ids.length, "event") : countWords(counted.data?.total);
  const error = sharedError(samples);
  if (count === null && error === null) return null;
  return (
    <p className="flex flex-wrap items-baseline gap-x-2 px-1">
      <span className="font-medium">
        {count}
        {count !== null && error !== null ? ":" : null}
      </span>
      {error === null ? null : <bdi className="line-clamp-2 font-mono text-sm wrap-anywhere">{visible(error)}</bdi>}
    </p>
  );
}

function countWords(total: CountOut | undefined): string | null {
  if (!total || total.value === null) return null;
  return `${countText(total)} ${total.value === 1 ? "event" : "events"}`;
}

/** What the recipe does to a few of the events, while it is written. */
function Sample(props: {
  /** null = not read yet. */
  events: EventDetail[] | null;
  error: unknown;
  recipe: Recipe | null;
  onRetry: () => void;
}) {
  const { events, error, recipe, onRetry } = props;
  const settled = useSettled(recipe);
  const tried = useMendOf(events?.map(({ id }) => id) ?? [], settled);
  const [first] = events ?? [];
  return (
    <Panel
      title="Samples"
      meta="the first of the events, updated as you type"
      bodyClassName="grid grid-cols-[minmax(0,1fr)] gap-2 p-3"
    >
      {error ? <ErrorPanel error={error} inline onRetry={onRetry} /> : null}
      {tried.isError ? <ErrorPanel error={tried.error} inline title="The recipe cannot be previewed" /> : null}
      {events?.length === 0 ? (
        <p className="text-muted">The selection matches no event, so a recipe has nothing to change.</p>
      ) : settled === null ? (
        first ? (
          <FirstPayload event={first} of={events!.length} />
        ) : error ? null : (
          <Skeleton className="h-40 w-full" />
        )
      ) : tried.data ? (
        <ul className={classNames("grid gap-px", recipe === null && "opacity-60")}>
          {tried.data.map((item) => (
            <MendLine key={item.id} item={item} />
          ))}
        </ul>
      ) : tried.isError ? null : (
        <Skeleton className="h-12 w-full" />
      )}
    </Panel>
  );
}

/** What a recipe is written for: one of the payloads as it is, until the recipe can be tried. */
function FirstPayload({ event, of }: { event: EventDetail; of: number }) {
  return (
    <>
      <p className="text-muted">
        The payload of{" "}
        <TextLink href={`/events/${event.id}`} className="font-mono text-sm">
          {shortenId(event.eventId, 20, 8)}
        </TextLink>
        . Complete the recipe to see what it does to {plural(of, "sample")}.
      </p>
      <div className="flex max-h-96 flex-col overflow-y-auto rounded-md border border-line">
        <Revealable key={event.id} event={event}>
          {(shown) => <PayloadView eventId={shown.id} body={shown.body} />}
        </Revealable>
      </div>
    </>
  );
}

function Previewed(props: {
  selection: Selection;
  recipe: Recipe;
  sources: readonly string[];
  /** The recipe was changed after its preview. */
  stale: boolean;
  onStarted: (operationId: string) => void;
}) {
  const { selection, recipe, stale, onStarted } = props;
  const counting = useMendCounts(selection, recipe);
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] items-start gap-3 lg:grid-cols-[minmax(0,3fr)_minmax(0,2fr)]">
      <Panel title="Preview" meta={stale ? "of the recipe before your last change" : undefined} bodyClassName="p-3">
        <MendPreview select={selection} recipe={recipe} counting={counting} />
      </Panel>
      <Panel title="Mend" bodyClassName="p-3">
        {stale ? (
          <p className="text-muted">The recipe was changed: preview it again before it is applied.</p>
        ) : (
          <MendApply
            selection={selection}
            recipe={recipe}
            sources={props.sources}
            counting={counting}
            onStarted={onStarted}
          />
        )}
      </Panel>
    </div>
  );
}
