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

export const SLACK = channelKind({
  kind: "slack",
  name: "Slack",
  settings: { url: secretAddress("incoming webhook", "SLACK_URL") },
  post: (message) => ({ json: JSON.stringify(slackBody(message)) }),
});

/** Characters of a section's text. https://docs.slack.dev/reference/block-kit/blocks/section-block */
const SECTION_MAX = 3_000;
/** Of `text`, which notifications show. */
const TEXT_MAX = 1_000;

const MARKS: Record<Severity, string> = {
  critical: ":red_circle:",
  warning: ":large_orange_circle:",
  info: ":large_blue_circle:",
};

/** The three characters that Slack reads as markup of its own. https://docs.slack.dev/messaging/formatting-message-text */
function escaped(text: string): string {
  // The others mark bold, italic and code only in pairs; a character without a width between them keeps them text.
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replace(/[*_~`]/g, "$&\u200b");
}

const link = (url: string, text: string) =>
  `<${url.replaceAll(">", "%3E").replaceAll("&", "&amp;")}|${escaped(text).replaceAll("|", "∣")}>`;

const section = (text: string) => ({ type: "section", text: { type: "mrkdwn", text: cutText(text, SECTION_MAX) } });

function slackBody(message: AlertMessage): object {
  const mark = closesRecord(message) ? ":white_check_mark:" : MARKS[message.severity];
  const alerts = listed(message).map((alert) => {
    const lines = listed(message).length > 1 ? [link(alert.url, alert.sentence)] : [];
    for (const group of alert.groups) lines.push(`${plural(group.count, "event")}: ${link(group.url, group.sentence)}`);
    const samples = alert.samples.map((sample) => ({
      line: `• ${escaped(sample.errorCode)} ${link(sample.url, sample.eventId)} ${escaped(sample.text)}`,
      links: sample.links.map(({ label, url }) => ` · ${link(url, label)}`).join(""),
    }));
    // The links of the first samples, as many as the section holds beside all lines.
    let left = SECTION_MAX - [...lines, ...samples.map(({ line }) => line)].join("\n").length;
    for (const { line, links } of samples) {
      lines.push(withRoom(line, links, line.length + left));
      if (lines.at(-1) !== line) left -= links.length;
    }
    return lines.join("\n");
  });
  const links = [link(message.url, "Open in Parkade")];
  if (message.runbookUrl !== null) links.push(link(message.runbookUrl, "What to do"));
  const more = moreWords(message);
  return {
    // Markup as well: `<!channel>` in it would call everybody.
    text: escaped(cutText(headline(message), TEXT_MAX)),
    blocks: [
      section(`${mark} *${escaped(headline(message))}*`),
      {
        type: "context",
        elements: [{ type: "mrkdwn", text: escaped(`${message.severity}, ${message.rule}, ${sinceWords(message)}`) }],
      },
      ...alerts.filter((text) => text !== "").map(section),
      ...(more === "" ? [] : [section(more)]),
      section(links.join("  ·  ")),
    ],
  };
}
