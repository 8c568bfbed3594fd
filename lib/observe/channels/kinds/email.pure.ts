import {
  type AlertMessage,
  cutText,
  headline,
  listed,
  moreWords,
  sinceWords,
  textLines,
} from "@/lib/observe/channels/alert-message.pure";
import { BY_NAME, channelKind, credentials, type Mail } from "@/lib/observe/channels/kinds/channel-kind.pure";
import { plural } from "@/lib/platform/plain/format.pure";

export const EMAIL = channelKind({
  kind: "email",
  name: "E-mail",
  settings: {
    server: {
      input: "server",
      label: "SMTP server",
      placeholder: "smtp://mail.example.com:587",
      hint: "smtps:// for TLS from the start",
    },
    ...credentials("SMTP", `${BY_NAME}; sent only over TLS`),
    from: { input: "mail", label: "from", placeholder: "parkade@example.com" },
    to: { input: "mails", label: "to", placeholder: "oncall@example.com, maria@example.com" },
  },
  fault({ username, password }) {
    if ((username === undefined) === (password === undefined)) return null;
    return { field: "password", detail: "username and password must be set together: set both or neither" };
  },
  mail: mailOf,
});

const SUBJECT_MAX = 200;

const ESCAPES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
const escaped = (text: string) => text.replace(/[&<>"']/g, (character) => ESCAPES[character]!);
const link = (url: string, text: string) => `<a href="${escaped(url)}">${escaped(text)}</a>`;

/** Messages about one record are one thread of the reader's program. `id`: the same for each try of the message. */
function mailOf(message: AlertMessage, id: string): Mail {
  const thread = message.recordKey.replace(/[^A-Za-z0-9]+/g, "-");
  return {
    // A header is one line.
    subject: cutText(`[Parkade ${message.severity}] ${headline(message)}`.replace(/\s+/g, " "), SUBJECT_MAX),
    text: `${textLines(message).join("\n")}\n`,
    html: htmlOf(message),
    messageId: `<${id}@parkade>`,
    inReplyTo: `<${thread}@parkade>`,
  };
}

function htmlOf(message: AlertMessage): string {
  const alerts = listed(message).map((alert) => {
    const parts = listed(message).length > 1 ? [`<p>${link(alert.url, alert.sentence)}</p>`] : [];
    const groups = alert.groups.map(
      (group) => `<li>${escaped(plural(group.count, "event"))}: ${link(group.url, group.sentence)}</li>`,
    );
    const samples = alert.samples.map(
      (sample) =>
        `<li>${[
          `${escaped(sample.errorCode)} ${link(sample.url, sample.eventId)} ${escaped(sample.text)}`,
          ...sample.links.map(({ label, url }) => link(url, label)),
        ].join(" · ")}</li>`,
    );
    if (groups.length + samples.length > 0) parts.push(`<ul>${groups.join("")}${samples.join("")}</ul>`);
    return parts.join("");
  });
  const links = [link(message.url, "Open in Parkade")];
  if (message.runbookUrl !== null) links.push(link(message.runbookUrl, "What to do"));
  return [
    "<!doctype html><html><body>",
    `<h2>${escaped(headline(message))}</h2>`,
    `<p>${escaped(`${message.severity}, rule "${message.rule}", ${sinceWords(message)}`)}</p>`,
    ...alerts,
    moreWords(message) === "" ? "" : `<p>${escaped(moreWords(message))}</p>`,
    `<p>${links.join(" · ")}</p>`,
    "</body></html>",
  ].join("");
}
