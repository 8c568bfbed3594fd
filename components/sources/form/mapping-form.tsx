"use client";

import { useDeferredValue, useId, useMemo } from "react";
import { classNames } from "@/components/ui/class-names";
import { ErrorPanel } from "@/components/ui/error-panel";
import { TextField } from "@/components/ui/input";
import type { KindField, KindOut } from "@/lib/sources/kinds.shapes";
import { useMappingPreview } from "@/lib/sources/sources.browser";
import type { ProbeSampleOut, SampleFactsOut } from "@/lib/sources/sources.shapes";
import { Pairs } from "./config-fields";
import { selectorsIn } from "./selectors";
import { type Config, isMapping, mappingOf, type SourceErrors, valueAt, withValue } from "./source-draft";

/** Where each fact of an event is found, and beside it what the sampled messages give. */
export function MappingForm(props: {
  kind: KindOut;
  config: Config;
  errors: SourceErrors;
  samples: readonly ProbeSampleOut[];
  sampledAt: number;
  onConfig: (config: Config) => void;
}) {
  const { kind, config, errors, samples, sampledAt, onConfig } = props;
  const places = useId();
  const fields = kind.fields.filter(isMapping);
  const selectors = useMemo(() => selectorsIn(samples), [samples]);
  const mapping = useDeferredValue(mappingOf(config));
  const preview = useMappingPreview(samples, mapping, sampledAt);
  const shown = preview.data?.samples ?? samples;
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-4">
      <datalist id={places}>
        {selectors.map(({ selector, example }) => (
          <option key={selector} value={selector}>
            {example}
          </option>
        ))}
      </datalist>
      {preview.isError ? <ErrorPanel error={preview.error} inline title="This mapping cannot be used" /> : null}
      {fields.map((field) => (
        <div
          key={field.path.join(".")}
          className="grid grid-cols-[minmax(0,1fr)] gap-x-4 gap-y-1 sm:grid-cols-[minmax(0,1fr)_minmax(0,1fr)]"
        >
          <Setting
            field={field}
            list={places}
            config={config}
            error={errors[field.path.join(".")]}
            onConfig={onConfig}
          />
          {samples.length === 0 ? null : <Found fact={field.path[1]!} samples={samples} shown={shown} />}
        </div>
      ))}
    </div>
  );
}

type SettingProps = {
  field: KindField;
  list: string;
  config: Config;
  error: string | undefined;
  onConfig: (config: Config) => void;
};

function Setting({ field, list, config, error, onConfig }: SettingProps) {
  const value = valueAt(config, field.path);
  const set = (next: unknown) => onConfig(withValue(config, field.path, next));
  if (field.input === "pairs") return <Pairs field={field} list={list} value={value} error={error} set={set} />;
  return (
    <TextField
      label={field.label}
      error={error}
      list={list}
      inputClassName="font-mono"
      placeholder="standard headers and fields"
      value={typeof value === "string" ? value : ""}
      onValue={(value) => set(value === "" ? undefined : value)}
    />
  );
}

/** What each sample gives for one fact; what a mapping has changed is bright. */
function Found(props: { fact: string; samples: readonly ProbeSampleOut[]; shown: readonly SampleFactsOut[] }) {
  const { fact, samples, shown } = props;
  return (
    <ol
      aria-label={`${fact} of the samples`}
      className="grid grid-cols-[minmax(0,1fr)] content-center font-mono text-sm"
    >
      {shown.map((facts, index) => {
        const text = factText(facts, fact);
        const before = samples[index] ? factText(samples[index].customary, fact) : null;
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: samples have no id, and keep their order
          <li key={index} className="truncate leading-5" data-tip={text ?? undefined}>
            {text === null ? (
              <span className="text-faint">none</span>
            ) : (
              <span className={classNames(text === before ? "text-muted" : "text-accent")}>{text}</span>
            )}
          </li>
        );
      })}
    </ol>
  );
}

function factText(facts: SampleFactsOut, fact: string): string | null {
  const value = facts[fact as keyof SampleFactsOut] ?? null;
  if (value === null || typeof value === "string") return value;
  const tags = Object.entries(value).map(([name, text]) => `${name}=${text}`);
  return tags.length === 0 ? null : tags.join(" ");
}
