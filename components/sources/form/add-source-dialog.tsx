"use client";

import { useRouter } from "next/navigation";
import { useId, useState } from "react";
import { isReached, ProbeResult } from "@/components/sources/probe-result";
import { ActionButton } from "@/components/ui/action-button";
import { Button } from "@/components/ui/button";
import { classNames } from "@/components/ui/class-names";
import { Dialog } from "@/components/ui/dialog";
import { ErrorPanel, ReadError } from "@/components/ui/error-panel";
import { Field, Input, Radio } from "@/components/ui/input";
import { Skeleton } from "@/components/ui/skeleton";
import { showToast } from "@/components/ui/toast";
import type { KindOut } from "@/lib/sources/kinds.shapes";
import { useCreateSource, useKinds, useProbe } from "@/lib/sources/sources.browser";
import { ConfigForm } from "./config-form";
import { KindIcon } from "./kind-icon";
import { MappingForm } from "./mapping-form";
import { PayloadSchemaField } from "./payload-schema-field";
import { bodyOf, errorsOf, isMapping, NEW_SOURCE, type SourceDraft, type SourceErrors } from "./source-draft";

const STEPS = ["Kind", "Connection", "Mapping", "Name"] as const;
type Step = (typeof STEPS)[number];

/** Connects a source step by step: its kind, its connection with a probe, its mapping on sampled messages, its name. */
export function AddSourceDialog({ onClose }: { onClose: () => void }) {
  const kinds = useKinds();
  const create = useCreateSource();
  const probe = useProbe();
  const router = useRouter();
  const [draft, setDraft] = useState(NEW_SOURCE);
  const [step, setStep] = useState<Step>("Kind");
  const [start, setStart] = useState<"running" | "paused">("running");
  const [pressed, setPressed] = useState(false);
  const kind = kinds.data?.items.find((one) => one.kind === draft.kind) ?? null;
  const result = bodyOf(draft, kind ?? { fields: [] });
  const failure = create.error ?? probe.error;
  const errors: SourceErrors = {
    ...errorsOf(failure?.fields ?? [], kind?.fields ?? []),
    ...(pressed && !result.ok ? result.errors : {}),
    ...(pressed && step === "Name" && draft.name.trim() === "" ? { name: "Name it as its consumers do." } : {}),
  };
  const set = (part: Partial<SourceDraft>) => setDraft({ ...draft, ...part });
  const at = STEPS.indexOf(step);
  const missed = probe.data !== undefined && !isReached(probe.data);
  const unreached = step === "Connection" && missed;

  const go = (to: Step) => {
    setPressed(false);
    setStep(to);
  };
  const look = () => {
    setPressed(true);
    create.reset();
    if (result.ok) probe.mutate({ kind: draft.kind, config: result.body.config });
  };
  const next = () => {
    setPressed(true);
    if (step !== "Kind" && !result.ok && !("payloadSchema" in result.errors)) return;
    if (step !== "Name") return go(STEPS[at + 1]!);
    if (result.ok && draft.name.trim() !== "") void save(kind!);
  };
  const save = async ({ fields, capabilities }: KindOut) => {
    if (!result.ok) return;
    probe.reset();
    const name = draft.name.trim();
    const mode = capabilities.reads ? start : "running";
    try {
      await create.mutateAsync({ name, kind: draft.kind, enabled: true, mode, ...result.body });
    } catch (error) {
      const named = Object.keys(errorsOf((error as { fields?: [] }).fields ?? [], fields));
      if (named.some((key) => fields.some((field) => isMapping(field) && field.path.join(".") === key))) go("Mapping");
      else if (named.some((key) => key !== "name" && key !== "payloadSchema")) go("Connection");
      return; // shown from `failure`, and beside its fields
    }
    onClose();
    router.push(`/sources/${encodeURIComponent(name)}`);
    void showToast({
      title: `Connected ${name}`,
      ...(missed ? { detail: "The last probe did not reach it: see its page." } : { tone: "success" }),
    });
  };
  const samples = probe.data?.sample ?? [];

  return (
    <Dialog
      title={kind === null ? "Connect a source" : `Connect ${kind.label}`}
      description={kind?.about}
      size="lg"
      onClose={onClose}
      footer={
        step === "Kind" ? undefined : (
          <>
            <Button className="mr-auto" onClick={() => go(STEPS[at - 1]!)}>
              Back
            </Button>
            {step === "Connection" || step === "Mapping" ? (
              <ActionButton variant={unreached ? "primary" : "secondary"} busy={probe.isPending} onClick={look}>
                Probe
              </ActionButton>
            ) : null}
            <ActionButton
              variant={unreached ? "secondary" : "primary"}
              type="submit"
              form="add-source"
              busy={create.isPending}
            >
              {step === "Name" ? "Connect" : unreached ? "Go on anyway" : "Next"}
            </ActionButton>
          </>
        )
      }
    >
      <form
        id="add-source"
        className="grid grid-cols-[minmax(0,1fr)] gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          next();
        }}
      >
        <Progress at={at} />
        {failure ? <ErrorPanel error={failure} inline title="This was not done" /> : null}
        {step === "Kind" ? (
          <>
            <ReadError read={kinds} />
            {kinds.isPending ? <Skeleton className="h-40!" /> : null}
            <Kinds
              kinds={kinds.data?.items ?? []}
              chosen={draft.kind}
              onChoose={(chosen) => {
                if (chosen !== draft.kind) {
                  set({ kind: chosen, config: {} });
                  probe.reset();
                  create.reset();
                }
                go("Connection");
              }}
            />
          </>
        ) : null}
        {step === "Connection" && kind ? (
          <>
            <ConfigForm
              key={kind.kind}
              kind={kind}
              config={draft.config}
              errors={errors}
              onConfig={(config) => set({ config })}
              probe={probe.data ? <ProbeResult probe={probe.data} /> : null}
            />
            <p className="text-sm text-faint">
              A password may stay in the environment: write env:PARKADE_SECRET_NAME in its place. {kind.label} in the
              docs: {kind.docs}
            </p>
          </>
        ) : null}
        {step === "Mapping" && kind ? (
          <>
            <p className="text-muted">{mappingWords(kind, samples.length, probe.isSuccess)}</p>
            <MappingForm
              kind={kind}
              config={draft.config}
              errors={errors}
              samples={samples}
              sampledAt={probe.submittedAt}
              onConfig={(config) => set({ config })}
            />
          </>
        ) : null}
        {step === "Name" && kind ? (
          <>
            <Field
              label="Name"
              hint="Cannot be changed later: it is part of every Idempotency-Key."
              error={errors.name}
            >
              {(control) => (
                <Input
                  {...control}
                  className="font-mono"
                  placeholder="orders"
                  value={draft.name}
                  onChange={(event) => set({ name: event.target.value })}
                />
              )}
            </Field>
            {kind.capabilities.reads ? <Start start={start} onStart={setStart} /> : null}
            <PayloadSchemaField
              text={draft.payloadSchema}
              error={errors.payloadSchema}
              onText={(payloadSchema) => set({ payloadSchema })}
            />
          </>
        ) : null}
      </form>
    </Dialog>
  );
}

function mappingWords({ capabilities }: KindOut, samples: number, probed: boolean): string {
  const rule = "A field names a header, property:NAME or a JSON pointer. Empty: the customary places.";
  if (!capabilities.reads) return `${rule} It fills what a sender leaves out.`;
  if (samples > 0)
    return `${rule} Beside it: what the ${samples === 1 ? "sampled message gives" : "sampled messages give"}.`;
  return `${rule} ${probed ? "The probe sampled no message." : "Probe the source to see what its messages give."}`;
}

function Progress({ at }: { at: number }) {
  return (
    <ol aria-label="Steps" className="flex flex-wrap gap-x-4 gap-y-1 text-sm">
      {STEPS.map((name, index) => (
        <li
          key={name}
          aria-current={index === at ? "step" : undefined}
          className={classNames(index === at ? "font-medium text-ink" : "text-muted")}
        >
          {index + 1} {name}
        </li>
      ))}
    </ol>
  );
}

function Kinds(props: { kinds: readonly KindOut[]; chosen: string; onChoose: (kind: string) => void }) {
  return (
    <ul aria-label="Kinds of source" className="grid gap-2 sm:grid-cols-2">
      {props.kinds.map(({ kind, label, about, icon }) => (
        <li key={kind} className="grid">
          <button
            type="button"
            aria-pressed={kind === props.chosen}
            onClick={() => props.onChoose(kind)}
            className="flex items-start gap-3 rounded-md border border-line-strong px-3 py-2 text-left hover:bg-hover aria-pressed:border-accent"
          >
            <span className="mt-0.5 text-muted">
              <KindIcon icon={icon} size={18} />
            </span>
            <span className="min-w-0">
              <span className="block font-medium">{label}</span>
              <span className="block text-sm text-muted">{about}</span>
            </span>
          </button>
        </li>
      ))}
    </ul>
  );
}

function Start(props: { start: "running" | "paused"; onStart: (start: "running" | "paused") => void }) {
  const id = useId();
  const choices = [
    ["running", "Start reading now"],
    ["paused", "Connect it paused: nothing is read until it is resumed"],
  ] as const;
  return (
    <div role="radiogroup" aria-label="Start" className="grid gap-1">
      {choices.map(([start, label]) => (
        <label key={start} htmlFor={`${id}-${start}`} className="flex items-center gap-2">
          <Radio
            id={`${id}-${start}`}
            name="start"
            checked={props.start === start}
            onChange={() => props.onStart(start)}
          />
          {label}
        </label>
      ))}
    </div>
  );
}
