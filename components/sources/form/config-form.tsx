"use client";

import { type ReactNode, useState } from "react";
import { Button } from "@/components/ui/button";
import { CodeField } from "@/components/ui/input";
import type { KindOut } from "@/lib/sources/kinds.shapes";
import { ConfigFields } from "./config-fields";
import { type Config, isMapping, jsonObject, type SourceErrors, valueAt } from "./source-draft";

const NO_OBJECT = "Not a JSON object.";

/** The settings of a source but its mapping: as fields, the rare ones folded, or all of them as JSON. */
export function ConfigForm(props: {
  kind: KindOut;
  config: Config;
  errors: SourceErrors;
  onConfig: (config: Config) => void;
  /** The answer of the last probe, which belongs to the address. */
  probe?: ReactNode;
}) {
  const { kind, config, errors, onConfig, probe } = props;
  const [json, setJson] = useState<string | null>(null);
  const rare = kind.fields.filter((field) => field.advanced && !isMapping(field));
  const [unfolded, setUnfolded] = useState(() => rare.some(({ path }) => valueAt(config, path) !== undefined));
  const usual = kind.fields.filter((field) => !field.advanced && !isMapping(field));
  const open = unfolded || rare.some(({ path }) => errors[path.join(".")] !== undefined);
  const part = { config, errors, onConfig };
  const broken = json !== null && !jsonObject(json);
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-4">
      {json === null ? (
        <>
          {/* Unfolded, the rare settings of an object stand below its usual ones. */}
          <ConfigFields fields={open ? [...usual, ...rare] : usual} belowAddress={probe} {...part} />
          {rare.length === 0 || open ? null : (
            <Button
              variant="ghost"
              size="sm"
              aria-expanded={false}
              className="max-w-full justify-self-start"
              onClick={() => setUnfolded(true)}
            >
              <span className="truncate">
                More: {[...new Set(rare.map(({ label, section }) => section ?? label))].join(", ")}
              </span>
            </Button>
          )}
        </>
      ) : (
        <CodeField
          label="Configuration"
          hint={`All settings${kind.fields.some(isMapping) ? ", including the mapping" : ""}. A value that is shown as *** is kept.`}
          error={broken ? NO_OBJECT : (errors.config ?? (Object.values(errors).join("; ") || undefined))}
          // The form is not sent with the settings as they were before the text was broken.
          ref={(box) => box?.setCustomValidity(broken ? NO_OBJECT : "")}
          rows={14}
          value={json}
          onValue={(text) => {
            setJson(text);
            const parsed = jsonObject(text);
            if (parsed !== undefined) onConfig(parsed ?? {});
          }}
        />
      )}
      {json === null ? null : probe}
      {errors.config && json === null ? (
        <p role="alert" className="text-sm text-danger">
          {errors.config}
        </p>
      ) : null}
      <Button
        variant="ghost"
        size="sm"
        className="justify-self-start"
        disabled={broken}
        onClick={() => setJson(json === null ? JSON.stringify(config, null, 2) : null)}
      >
        {json === null ? "Edit as JSON" : "Edit as fields"}
      </Button>
    </div>
  );
}
