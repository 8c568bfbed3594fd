"use client";

import { useState } from "react";
import { ConfigForm } from "@/components/sources/form/config-form";
import { RepeatQuestion } from "@/components/sources/form/settings-fields";
import { bodyOf, type Config, errorsOf, NEW_SOURCE, type SourceErrors } from "@/components/sources/form/source-draft";
import { TextField } from "@/components/ui/input";
import { ReasonDialog } from "@/components/ui/reason-dialog";
import type { KindOut } from "@/lib/sources/kinds.shapes";
import type { SourceOut, TargetOut } from "@/lib/sources/sources.shapes";
import { useAddTarget, useChangeTarget } from "@/lib/sources/targets/targets.browser";

/** Adds a target to a source, or changes the name and the destination of one. Its rate and breaker are on Targets. */
export function NamedTargetDialog(props: {
  source: SourceOut;
  kind: KindOut;
  /** Absent = a new one. */
  target?: TargetOut;
  onClose: () => void;
}) {
  const { source, target, onClose } = props;
  const kind = destinationKind(props.kind);
  const [name, setName] = useState(target?.name ?? "");
  const [config, setConfig] = useState<Config>(target?.destination ?? {});
  /** Of a new one; null = not answered. */
  const [retryable, setRetryable] = useState<boolean | null>(null);
  const add = useAddTarget(source.name);
  const change = useChangeTarget(target?.name ?? "");
  const failure = target === undefined ? add.error : change.error;
  const body = bodyOf({ ...NEW_SOURCE, name, kind: kind.kind, config }, kind);
  const errors: SourceErrors = {
    ...errorsOf(failure?.fields ?? [], kind.fields),
    ...(body.ok ? {} : body.errors),
  };
  return (
    <ReasonDialog
      needs={["change-source", "change-target"]}
      title={
        <span className="wrap-anywhere">
          {target === undefined ? `A target of ${source.name}` : `Edit ${target.name}`}
        </span>
      }
      description={
        target === undefined
          ? "Another destination at the same broker, used only by redrives that name it. It has its own rate, breaker and policy, and none of the source's headers or signatures."
          : "Applies at once to redrives that name it, including running ones."
      }
      size="lg"
      verb={target === undefined ? "Add the target" : "Save"}
      onClose={onClose}
      onSubmit={async (reason) => {
        if (!body.ok || (target === undefined && retryable === null)) return "stay";
        const { config: destination } = body.body;
        const saved = await (target === undefined
          ? add.mutateAsync({ name: name.trim(), destination, retryable: retryable ?? false, reason })
          : change.mutateAsync({
              ...(name.trim() === target.name ? {} : { name: name.trim() }),
              destination,
              reason,
            }));
        return { title: `${target === undefined ? "Added" : "Changed"} ${saved.name}`, tone: "success" };
      }}
    >
      {(pressed) => (
        <>
          <TextField
            label="Name"
            error={errors.name}
            hint="Shown in redrives, in the history of events and in the audit log."
            inputClassName="font-mono"
            placeholder={`${source.name}.audit`}
            value={name}
            onValue={setName}
          />
          <ConfigForm kind={kind} config={config} errors={errors} onConfig={setConfig} />
          {target === undefined ? (
            <RepeatQuestion answer={retryable} missing={pressed && retryable === null} onAnswer={setRetryable} />
          ) : null}
        </>
      )}
    </ReasonDialog>
  );
}

/** The kind with the settings of a destination alone. */
function destinationKind(kind: KindOut): KindOut {
  return { ...kind, fields: kind.fields.filter(({ path }) => kind.destination.includes(path[0]!)) };
}
