import type { AlertMessage, AlertTarget } from '../../src/model/alerts.ts'
import { linesOf, plain, titleOf } from './words.ts'

/**
 * Bodies for chat systems. Nothing in them is code, and names are never markup: they are sent as plain text, or with
 * the system's markup escaped.
 */
type Template = NonNullable<AlertTarget['template']>

const DISCORD_MAX = 2_000
const SLACK_MAX = 3_000
const MATTERMOST_MAX = 16_000
const SUPPRESS_EMBEDS = 4

export function bodyOf(message: AlertMessage, template: Template): object {
  const [title, lines] = [titleOf(message), linesOf(message)]
  return TEMPLATES[template](message, title, lines)
}

const TEMPLATES: Readonly<
  Record<Template, (message: AlertMessage, title: string, lines: readonly string[]) => object>
> = {
  json: (message, title) => ({ type: 'fulcrum.alert', title, ...message }),
  // https://docs.slack.dev/messaging/formatting-message-text
  slack: (_, title, lines) => ({
    text: forSlack(title),
    blocks: [
      {
        type: 'section',
        text: { type: 'plain_text', emoji: false, text: cut([title, ...lines].join('\n'), SLACK_MAX) },
      },
    ],
  }),
  // An adaptive card for Workflows webhooks. Text runs are never parsed as Markdown.
  teams: (_, title, lines) => ({
    type: 'message',
    attachments: [
      {
        contentType: 'application/vnd.microsoft.card.adaptive',
        contentUrl: null,
        content: {
          $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
          type: 'AdaptiveCard',
          version: '1.4',
          body: [
            { type: 'RichTextBlock', inlines: [{ type: 'TextRun', text: title, weight: 'Bolder' }] },
            ...lines.map((text) => ({ type: 'RichTextBlock', inlines: [{ type: 'TextRun', text }] })),
          ],
        },
      },
    ],
  }),
  mattermost: (_, title, lines) => ({
    username: 'Fulcrum',
    text: cut([`**${forMarkdown(title)}**`, ...lines.map(forMarkdown)].join('\n'), MATTERMOST_MAX),
  }),
  discord: (_, title, lines) => ({
    username: 'Fulcrum',
    content: cut([`**${forMarkdown(title)}**`, ...lines.map(forMarkdown)].join('\n'), DISCORD_MAX),
    allowed_mentions: { parse: [] },
    flags: SUPPRESS_EMBEDS,
  }),
}

const forSlack = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

/** A zero-width space after @ prevents mentions, and links are defused. */
const forMarkdown = (text: string): string =>
  plain(text)
    .replaceAll(/[\\`*_{}[\]()#+\-.!|~<>&:]/g, String.raw`\$&`)
    .replaceAll('@', '@\u200b')

/** Leaves no partial character and no partial escape at the end. */
function cut(text: string, length_max: number): string {
  if (text.length <= length_max) return text
  return `${text.slice(0, length_max - 1).replace(/(?:\\|[\ud800-\udbff])$/, '')}…`
}
