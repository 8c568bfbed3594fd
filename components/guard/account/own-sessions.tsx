"use client";

import { ActionButton } from "@/components/ui/action-button";
import { ReadError } from "@/components/ui/error-panel";
import { Panel } from "@/components/ui/panel";
import { Head, Table, Td, Tr } from "@/components/ui/table";
import { TimeAgo } from "@/components/ui/time-ago";
import { failureToast } from "@/components/ui/toast";
import { useEndOwnSession, useOwnSessions } from "@/lib/guard/accounts/accounts.browser";

export function OwnSessions() {
  const sessions = useOwnSessions();
  const end = useEndOwnSession();
  const items = sessions.data?.items ?? [];
  const press = (which: string) =>
    void end.mutateAsync(which).catch((error: unknown) => failureToast("The session was not ended", error));
  return (
    <Panel
      title="Sessions"
      meta={items.length > 0 ? String(items.length) : undefined}
      actions={
        items.length > 1 ? (
          <ActionButton needs={null} size="sm" onClick={() => press("others")}>
            Sign out everywhere else
          </ActionButton>
        ) : undefined
      }
    >
      <ReadError read={sessions} stale={items.length > 0} />
      <div className="overflow-x-auto">
        <Table aria-label="Sessions">
          <Head columns={["Browser", "Address", "Signed in", "Last used", { unseen: "Actions" }]} />
          <tbody>
            {items.map((session) => (
              <Tr key={session.id}>
                <Td>
                  <span className="block max-w-70 truncate" data-tip={session.agent ?? undefined}>
                    {browserWords(session.agent)}
                  </span>
                </Td>
                <Td className="font-mono text-sm">{session.address ?? "unknown"}</Td>
                <Td>
                  <TimeAgo at={session.createdAt} />
                </Td>
                <Td>
                  <TimeAgo at={session.seenAt} />
                </Td>
                <Td>
                  {session.current ? (
                    <span className="text-muted">this session</span>
                  ) : (
                    <ActionButton
                      needs={null}
                      size="sm"
                      aria-label={`End the session of ${session.address ?? "an unknown address"}`}
                      onClick={() => press(session.id)}
                    >
                      End
                    </ActionButton>
                  )}
                </Td>
              </Tr>
            ))}
          </tbody>
        </Table>
      </div>
    </Panel>
  );
}

const BROWSERS = ["Edg", "OPR", "Firefox", "Chrome", "Safari"];
const NAMES: Record<string, string> = { Edg: "Edge", OPR: "Opera" };
const SYSTEMS = ["Android", "iPhone", "iPad", "Windows", "Mac OS X", "Linux"];

function browserWords(agent: string | null): string {
  if (agent === null) return "unknown";
  const browser = BROWSERS.find((name) => agent.includes(`${name}/`));
  const system = SYSTEMS.find((name) => agent.includes(name));
  if (browser === undefined) return agent;
  return [NAMES[browser] ?? browser, system].filter(Boolean).join(", ");
}
