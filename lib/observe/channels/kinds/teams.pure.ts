import {
  type AlertMessage,
  closesRecord,
  cutText,
  headline,
  listed,
  moreWords,
  sinceWords,
  withRoom,
} from "@/lib/observe/channels/alert-message.pure";
import { channelKind, secretAddress } from "@/lib/observe/channels/kinds/channel-kind.pure";
import { plural } from "@/lib/platform/plain/format.pure";
import type { Severity } from "@/lib/states/severity.pure";

export const TEAMS = channelKind({
  kind: "teams",
  name: "Microsoft Teams",
  settings: { url: secretAddress("workflow webhook", "TEAMS_URL") },
  post: (message) => ({ json: JSON.stringify(teamsBody(message)) }),
});

/** Characters of one block: a card has 28 KB at most. */
const BLOCK_MAX = 1_000;

const COLOURS: Record<Severity, string> = { critical: "attention", warning: "warning", info: "accent" };

/** Text of a card is Markdown: links, bold and lists in an error text must stay text. */
function escaped(text: string): string {
  return text.replace(/[\\`*_[\]()#~>|]/g, "\\$&");
}

const block = (text: string, more: object = {}) => ({
  type: "TextBlock",
  wrap: true,
  text: cutText(text, BLOCK_MAX),
  ...more,
});

const link = (text: string, url: string) => `[${escaped(text)}](${url.replaceAll(")", "%29")})`;

/** An Adaptive Card for "When a Teams webhook request is received". https://learn.microsoft.com/en-us/connectors/teams/ */
function teamsBody(message: AlertMessage): object {
  const colour = closesRecord(message) ? "good" : COLOURS[message.severity];
  const lines = listed(message).flatMap((alert) => [
    ...(listed(message).length > 1 ? [block(link(alert.sentence, alert.url), { separator: true })] : []),
    ...alert.groups.map((group) => block(`${plural(group.count, "event")}: ${link(group.sentence, group.url)}`)),
    ...alert.samples.map((sample) =>
      block(
        withRoom(
          `${escaped(sample.errorCode)} ${link(sample.eventId, sample.url)} ${escaped(sample.text)}`,
          // A card has 28 KB at most: the first alert has the links, and the others lead to their pages.
          alert === message.alerts[0] ? sample.links.map(({ label, url }) => ` · ${link(label, url)}`).join("") : "",
          BLOCK_MAX,
        ),
        { isSubtle: true },
      ),
    ),
  ]);
  const more = moreWords(message);
  const open = (title: string, url: string) => ({ type: "Action.OpenUrl", title, url });
  const card = {
    $schema: "http://adaptivecards.io/schemas/adaptive-card.json",
    type: "AdaptiveCard",
    version: "1.4",
    body: [
      block(escaped(headline(message)), { weight: "bolder", size: "medium", color: colour }),
      block(escaped(`${message.severity}, ${message.rule}, ${sinceWords(message)}`), {
        isSubtle: true,
        spacing: "none",
      }),
      ...lines,
      ...(more === "" ? [] : [block(more)]),
    ],
    actions: [
      open("Open in Parkade", message.url),
      ...(message.runbookUrl === null ? [] : [open("What to do", message.runbookUrl)]),
    ],
  };
  return {
    type: "message",
    attachments: [{ contentType: "application/vnd.microsoft.card.adaptive", contentUrl: null, content: card }],
  };
}
