"use client";

import { type ComponentProps, useCallback, useEffect, useId, useMemo, useRef, useState } from "react";
import { HexView } from "@/components/events/payload/hex-view";
import { DownloadPayload } from "@/components/guard/masking/reveal";
import { Button } from "@/components/ui/button";
import { FileInput, Input } from "@/components/ui/input";
import { Shape } from "@/components/ui/shape";
import { showToast } from "@/components/ui/toast";
import { Toggles } from "@/components/ui/toggles";
import type { EventDetail } from "@/lib/events/events.shapes";
import { ApiError } from "@/lib/platform/api/api-error.shapes";
import { formatBytes, plural } from "@/lib/platform/plain/format.pure";
import { checkPayload } from "@/lib/repair/revisions/revisions.browser";
import { formOf, formWords } from "@/lib/sources/schemas/body-form.pure";
import { CodeEditor, type CodeEditorHandle, EditorKeys } from "./code-editor";
import { type Content, type Draft, EDIT_BYTES_MAX, languageOf } from "./edit-draft";
import { exactBytes, exactText } from "./exact-text";
import type { PlacedProblem, PointedProblem } from "./json-places";
import { newestOnly } from "./newest-only";

/** The answer of the schema: its problems, or why it could not be asked. */
type SchemaSays = { words: string; failed: boolean } | null;

export type PartOfEdit = {
  event: EventDetail;
  draft: Draft;
  onChange: (part: Partial<Content>) => void;
  /** Another payload, which the fields must open anew. */
  onFile: (payload: Uint8Array) => void;
  /** Ctrl Enter. */
  onDone: () => void;
};

/** The payload as text that is edited or bytes that a file replaces, with the problems that its schema has with it. */
export function PayloadEditor({ event, draft, onChange, onFile, onDone }: PartOfEdit) {
  const { now } = draft;
  const keys = useId();
  const handle = useRef<CodeEditorHandle>(null);
  const text = useMemo(() => exactText(now.payload), [now.payload]);
  const { origin, body } = event;
  // Text would go out as what the message calls its body: its consumer would undo an encoding that nobody applied.
  const encoding = body.decoded?.text == null ? null : formWords(formOf({ ...now, origin }));
  const isText = text !== null && encoding === null;
  const [chosen, setChosen] = useState<"text" | "hex">("text");
  const mode = isText ? chosen : "hex";
  const language = languageOf(now);
  const [problems, setProblems] = useState<PlacedProblem[] | null>(null);
  const [says, setSays] = useState<SchemaSays>(null);
  const newest = useMemo(() => newestOnly(setSays), []);
  const check = useCallback(
    (typed: string) => askSchema({ source: event.source, eventType: event.eventType, text: typed }, newest()),
    [event.source, event.eventType, newest],
  );
  if (draft.was.payload.length > EDIT_BYTES_MAX) {
    return (
      <p className="px-3 py-4 text-muted">
        The payload is larger than {formatBytes(EDIT_BYTES_MAX)}. Download it, edit it elsewhere, and send it through
        the API as a revision.
      </p>
    );
  }
  return (
    <div className="flex min-h-96 flex-1 flex-col">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1.5 border-b border-line px-3 py-1.5">
        <Toggles
          label="Open the payload as"
          joined
          options={[
            { value: "text", label: "text", disabled: !isText },
            { value: "hex", label: "hex" },
          ]}
          value={mode}
          onChange={setChosen}
        />
        <span className="flex items-center gap-1.5 text-sm text-muted">
          <label htmlFor={`${keys}-type`}>Content type</label>
          <Input
            id={`${keys}-type`}
            value={now.contentType}
            onChange={(change) => onChange({ contentType: change.target.value })}
            aria-invalid={now.contentType.trim() === "" ? true : undefined}
            className="h-6! w-56! font-mono text-sm"
          />
        </span>
        {mode === "text" && language === "json" ? (
          <Button
            size="sm"
            data-tip="Changes the white space of the whole payload, so its bytes change. Ctrl Z undoes it."
            onClick={() => {
              if (handle.current?.format() === false) {
                void showToast({
                  title: "This is not valid JSON yet",
                  detail: "Correct the marked errors first.",
                  tone: "error",
                });
              }
            }}
          >
            Format
          </Button>
        ) : null}
        <ReplaceByFile onRead={onFile} />
        <span className="ml-auto text-sm text-faint">{bytesWords(now.payload.length, text)}</span>
        <DownloadPayload eventId={event.id} revision={draft.base} />
      </div>
      {isText ? null : (
        <p className="border-b border-line px-3 py-1 text-muted">
          {encoding === null
            ? "These bytes are not valid UTF-8: download them, edit them elsewhere, and upload the edited file."
            : `The message declares its body as ${encoding}, so it cannot be edited as text. Download it, edit it elsewhere, and upload a file in the same encoding; or correct the content type and headers, and upload plain text.`}
        </p>
      )}
      {mode === "text" && text !== null ? (
        <>
          <PayloadText
            payload={now.payload}
            language={language}
            describedBy={keys}
            handle={handle}
            check={check}
            onProblems={setProblems}
            onDone={onDone}
            onChange={(payload) => onChange({ payload })}
          />
          {language === "json" ? (
            <Problems problems={problems} says={says} onShow={(one) => handle.current?.show(one)} />
          ) : null}
          <div className="border-t border-line px-3 py-1">
            <EditorKeys id={keys} more=", Ctrl Enter shows what will change" />
          </div>
        </>
      ) : (
        <PayloadBytes payload={now.payload} />
      )}
    </div>
  );
}

/** Has the focus at first, as the text has: the keys scroll it. */
function PayloadBytes({ payload }: { payload: Uint8Array }) {
  const box = useRef<HTMLElement>(null);
  useEffect(() => box.current?.focus(), []);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard
    <section ref={box} tabIndex={0} aria-label="Payload bytes" className="min-h-40 flex-1 overflow-auto">
      <HexView bytes={payload} />
    </section>
  );
}

/** The bytes of a file become the payload of the draft; the content type stays. */
function ReplaceByFile({ onRead }: { onRead: (payload: Uint8Array) => void }) {
  const read = async (file: File) => {
    if (file.size <= EDIT_BYTES_MAX) return onRead(new Uint8Array(await file.arrayBuffer()));
    void showToast({
      title: `${file.name} is larger than ${formatBytes(EDIT_BYTES_MAX)}`,
      detail: "Send it through the API as a revision.",
      tone: "error",
    });
  };
  return <FileInput label="Replace with a file" onFile={read} />;
}

/** Line breaks and mark are those of the payload when the text was opened: a typed character must not change them. */
function PayloadText(
  props: Pick<
    ComponentProps<typeof CodeEditor>,
    "language" | "describedBy" | "handle" | "check" | "onProblems" | "onDone"
  > & {
    payload: Uint8Array;
    onChange: (payload: Uint8Array) => void;
  },
) {
  const { payload, onChange, ...editor } = props;
  const [opened] = useState(() => exactText(payload));
  if (opened === null) return null;
  return (
    <CodeEditor
      {...editor}
      text={opened.text}
      separator={opened.separator}
      label="Payload"
      autoFocus
      onChange={(text) => onChange(exactBytes({ text, mark: opened.mark }))}
      className="min-h-72 flex-1 overflow-hidden lg:min-h-40"
    />
  );
}

function bytesWords(bytes: number, text: ReturnType<typeof exactText>): string {
  const breaks = text === null ? null : text.mixed ? "mixed line breaks" : text.separator === "\r\n" ? "CRLF" : null;
  return [formatBytes(bytes), text?.mark ? "with a byte order mark" : null, breaks].filter(Boolean).join(" · ");
}

export async function askSchema(
  request: Parameters<typeof checkPayload>[0],
  say: (says: SchemaSays) => void,
): Promise<PointedProblem[]> {
  try {
    const answer = await checkPayload(request);
    say({ words: answer.detail, failed: answer.ok === false });
    return answer.faults.map(({ pointer, detail, fix }) => ({
      pointer,
      // Faults name their pointer; the editor names it itself.
      message: `${detail.startsWith(pointer) ? detail.slice(pointer.length).trim() : detail}: ${fix}`,
    }));
  } catch (error) {
    say({ words: error instanceof ApiError ? error.detail : "The schema could not be checked.", failed: true });
    return [];
  }
}

/** The problems in words, for whoever does not see the underlines; each leads to its place. */
function Problems(props: {
  /** null = not checked yet. */
  problems: PlacedProblem[] | null;
  says: SchemaSays;
  onShow: (problem: PlacedProblem) => void;
}) {
  const { problems: found, says, onShow } = props;
  const problems = found ?? [];
  const errors = problems.filter(({ severity }) => severity === "error").length;
  return (
    <div className="max-h-32 shrink-0 overflow-y-auto border-t border-line bg-canvas px-3 py-1.5 text-sm">
      <p role="status" className="text-muted">
        {found === null
          ? "Checking…"
          : problems.length === 0
            ? (says?.words ?? "It is valid JSON.")
            : `${plural(errors, "problem")}${problems.length > errors ? ` and ${plural(problems.length - errors, "warning")}` : ""}`}
      </p>
      {problems.length === 0 ? null : (
        <ul aria-label="Problems">
          {problems.map((problem) => (
            <li key={`${problem.from} ${problem.message}`}>
              <button
                type="button"
                onClick={() => onShow(problem)}
                className="flex min-h-6 items-baseline gap-1.5 text-left hover:underline"
              >
                <Shape
                  name={problem.severity === "error" ? "cross" : "triangle"}
                  className={`shrink-0 self-center ${problem.severity === "error" ? "text-danger" : "text-warning"}`}
                />
                <span className="sr-only">{problem.severity}: </span>
                <span className="wrap-anywhere">{problem.message}</span>
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
