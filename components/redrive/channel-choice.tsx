"use client";

import { useId } from "react";
import { Checkbox } from "@/components/ui/input";
import { TextLink } from "@/components/ui/text-link";
import { useChannels } from "@/lib/observe/channels/channels.browser";

/** Which channels are notified when an operation ends or stalls. */
export function ChannelChoice(props: {
  tell: readonly string[];
  onTell: (tell: string[]) => void;
  disabled?: boolean;
}) {
  const { tell, onTell, disabled = false } = props;
  const id = useId();
  const channels = useChannels();
  const names = [...new Set([...tell, ...(channels.data?.items ?? []).map(({ name }) => name)])].sort();
  if (names.length === 0) {
    return (
      <p className="text-muted">
        {channels.data ? (
          <>
            No channels yet:{" "}
            <TextLink href="/alerts/channels" className="underline">
              add one
            </TextLink>
            .
          </>
        ) : (
          "The channels could not be read."
        )}
      </p>
    );
  }
  return (
    <fieldset className="flex flex-wrap gap-x-4 gap-y-1" disabled={disabled}>
      <legend className="sr-only">Channels that get a message when it ends or stalls</legend>
      {names.map((name, index) => (
        <span key={name} className="flex min-w-0 items-center gap-2">
          <Checkbox
            id={`${id}-${index}`}
            checked={tell.includes(name)}
            onChange={({ target }) => onTell(target.checked ? [...tell, name] : tell.filter((each) => each !== name))}
          />
          <label htmlFor={`${id}-${index}`} className="wrap-anywhere">
            {name}
          </label>
        </span>
      ))}
    </fieldset>
  );
}

/** The choice with its label, in the form of a change of many events. */
export function TellField(props: { tell: readonly string[]; onTell: (tell: string[]) => void }) {
  return (
    <div className="grid gap-1">
      <p className="text-sm font-medium text-muted">Notify when it ends or stalls</p>
      <ChannelChoice {...props} />
    </div>
  );
}
