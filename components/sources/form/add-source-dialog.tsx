"use client";

import { useRouter } from "next/navigation";
import { useState } from "react";
import { isReached, ProbeResult } from "@/components/sources/probe-result";
import { ActionButton } from "@/components/ui/action-button";
import { Button } from "@/components/ui/button";
import { classNames } from "@/components/ui/class-names";
import { Dialog } from "@/components/ui/dialog";
import { ErrorPanel, ReadError } from "@/components/ui/error-panel";
import { Choice, TextField } from "@/components/ui/input";
import { Skeleton } from "@/components/ui/skeleton";
import { TextLink } from "@/components/ui/text-link";
import { showToast } from "@/components/ui/toast";
import { submits } from "@/components/ui/use-submit";
import type { KindField, KindOut } from "@/lib/sources/kinds.shapes";
import { useCreateSource, useKinds } from "@/lib/sources/sources.browser";
import { ConfigForm } from "./config-form";
import { KindIcon } from "./kind-icon";
import { MappingForm } from "./mapping-form";
import { RepeatQuestion } from "./settings-fields";
import { errorsOf, isMapping, NEW_SOURCE, type SourceBody, type SourceErrors } from "./source-draft";
import { type SourceForm, useSourceForm } from "./use-source-form";

const STEPS = ["Kind", "Connection", "Mapping", "Name"] as const;
type Step = (typeof STEPS)[number];
/** There are no messages to map where senders fill the fields themselves. */
const stepsOf = (kind: KindOut | null) =>
  STEPS.filter((step) => step !== "Mapping" || kind?.capabilities.reads !== false);
const STARTS = [
  { value: "running", label: "Start reading now" },
  { value: "paused", label: "Connect it paused: nothing is read until it is resumed" },
] as const;
type StartMode = (typeof STARTS)[number]["value"];

/** Connects a source step by step: its kind, its connection with a probe, its mapping on sampled messages, its name. */
export function AddSourceDialog({ onClose }: { onClose: () => void }) {
  const kinds = useKinds();
  const create = useCreateSource();
  const form = useSourceForm(NEW_SOURCE, kinds.data?.items ?? [], create);
  const { kind, failure, probe } = form;
  const [step, setStep] = useState<Step>("Kind");
  const [start, setStart] = useState<StartMode>("running");
  const [retryable, setRetryable] = useState<boolean | null>(null);
  const connected = useConnected(onClose);
  const missed = probe.data !== undefined && !isReached(probe.data);
  const unreached = step === "Connection" && missed;
  const steps = stepsOf(kind);
  const at = steps.indexOf(step);

  const go = (to: Step) => {
    form.setPressed(false);
    setStep(to);
  };
  const next = () => {
    const { result, draft } = form;
    form.setPressed(true);
    if (step !== "Kind" && !result.ok && !("name" in result.errors)) return;
    if (step !== "Name") return go(steps[at + 1]!);
    if (result.ok && draft.name.trim() !== "" && retryable !== null) void save(kind!, { ...result.body, retryable });
  };
  const save = async ({ kind, fields, capabilities }: KindOut, body: SourceBody & { retryable: boolean }) => {
    probe.reset();
    const name = form.draft.name.trim();
    try {
      await create.mutateAsync({ name, kind, enabled: true, mode: capabilities.reads ? start : "running", ...body });
    } catch (error) {
      const wrong = stepOf(errorsOf((error as { fields?: [] }).fields ?? [], fields), fields);
      if (wrong !== null) go(wrong);
      return; // shown from `failure`, and beside its fields
    }
    connected(name, missed);
  };

  return (
    <Dialog
      title={kind === null ? "Connect a source" : `Connect ${kind.label}`}
      description={kind?.about}
      size="lg"
      onClose={onClose}
      footer={
        step === "Kind" ? undefined : (
          <>
            <Button className="mr-auto" onClick={() => go(steps[at - 1]!)}>
              Back
            </Button>
            {step === "Connection" || step === "Mapping" ? (
              <ActionButton
                needs="change-source"
                variant={unreached ? "primary" : "secondary"}
                busy={probe.isPending}
                onClick={() => form.look({ kind: form.draft.kind })}
              >
                Probe
              </ActionButton>
            ) : null}
            <ActionButton
              needs="change-source"
              variant={unreached ? "secondary" : "primary"}
              type="submit"
              form="add-source"
              busy={create.isPending}
            >
              {step === "Name" ? "Connect" : unreached ? "Continue anyway" : "Next"}
            </ActionButton>
          </>
        )
      }
    >
      <form id="add-source" className="grid grid-cols-[minmax(0,1fr)] gap-4" onSubmit={submits(next)}>
        <Progress steps={steps} at={at} />
        {failure ? <ErrorPanel error={failure} inline title="Request failed" /> : null}
        {step === "Kind" ? <KindStep kinds={kinds} form={form} onChosen={() => go("Connection")} /> : null}
        {step === "Connection" && kind ? <ConnectionStep form={form} kind={kind} /> : null}
        {step === "Mapping" && kind ? <MappingStep form={form} kind={kind} /> : null}
        {step === "Name" && kind ? (
          <NameStep
            form={form}
            kind={kind}
            start={start}
            onStart={setStart}
            retryable={retryable}
            onRetryable={setRetryable}
          />
        ) : null}
      </form>
    </Dialog>
  );
}

/** The step with the first field that the server refused; null = the last one. */
function stepOf(errors: SourceErrors, fields: readonly KindField[]): Step | null {
  const named = Object.keys(errors);
  if (named.some((key) => fields.some((field) => isMapping(field) && field.path.join(".") === key))) return "Mapping";
  return named.some((key) => key !== "name") ? "Connection" : null;
}

/** Opens the page of a new source. `missed`: the last probe did not reach it. */
function useConnected(onClose: () => void) {
  const router = useRouter();
  return (name: string, missed: boolean) => {
    onClose();
    router.push(`/sources/${encodeURIComponent(name)}`);
    void showToast({
      title: `Connected ${name}`,
      ...(missed
        ? { detail: "The last probe could not reach the source: its page has the details." }
        : { tone: "success" }),
    });
  };
}

type Part = { form: SourceForm; kind: KindOut };

function KindStep(props: { kinds: ReturnType<typeof useKinds>; form: SourceForm; onChosen: () => void }) {
  const { kinds, form, onChosen } = props;
  return (
    <>
      <ReadError read={kinds} />
      {kinds.isPending ? <Skeleton className="h-40!" /> : null}
      <Kinds
        kinds={kinds.data?.items ?? []}
        chosen={form.draft.kind}
        onChoose={(kind) => {
          if (kind !== form.draft.kind) {
            form.set({ kind, config: {} });
            form.reset();
          }
          onChosen();
        }}
      />
    </>
  );
}

function ConnectionStep({ form: { draft, errors, set, probe }, kind }: Part) {
  return (
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
        A password can stay in the environment: enter env:PARKADE_SECRET_NAME instead. See{" "}
        <TextLink href={`/docs/${kind.docs}`} target="_blank" className="underline">
          the page about {kind.label}
        </TextLink>
        .
      </p>
    </>
  );
}

function MappingStep({ form: { draft, errors, set, probe }, kind }: Part) {
  const samples = probe.data?.sample ?? [];
  return (
    <>
      <p className="text-muted">{mappingWords(samples.length, probe.isSuccess)}</p>
      <MappingForm
        kind={kind}
        config={draft.config}
        errors={errors}
        samples={samples}
        sampledAt={probe.submittedAt}
        onConfig={(config) => set({ config })}
      />
    </>
  );
}

type Start = {
  start: StartMode;
  onStart: (start: StartMode) => void;
  retryable: boolean | null;
  onRetryable: (retryable: boolean) => void;
};

function NameStep(props: Part & Start) {
  const { kind, start, onStart, retryable, onRetryable } = props;
  const { draft, errors, text, pressed } = props.form;
  const unnamed = pressed && draft.name.trim() === "";
  return (
    <>
      <TextField
        {...text("name")}
        label="Name"
        hint="Cannot be changed later: it is part of every Idempotency-Key."
        error={unnamed ? "Use the name that its consumers use." : errors.name}
        inputClassName="font-mono"
        placeholder="orders"
      />
      {kind.capabilities.reads ? <Choice label="Start" options={STARTS} value={start} onChange={onStart} /> : null}
      <RepeatQuestion answer={retryable} missing={pressed && retryable === null} onAnswer={onRetryable} />
      <p className="text-sm text-muted">
        Mapping, JSON Schema, storm limit and links can be set later, with Edit… on its page.
      </p>
    </>
  );
}

function mappingWords(samples: number, probed: boolean): string {
  const rule = "Enter a header, property:NAME or a JSON pointer. Leave empty to use the standard headers and fields.";
  if (samples > 0)
    return `${rule} Next to each field: the value in the ${samples === 1 ? "sampled message" : "sampled messages"}.`;
  return `${rule} ${probed ? "The probe sampled no message." : "Probe the source to see the values in its messages."}`;
}

function Progress({ steps, at }: { steps: readonly Step[]; at: number }) {
  return (
    <ol aria-label="Steps" className="flex flex-wrap gap-x-4 gap-y-1 text-sm">
      {steps.map((name, index) => (
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
