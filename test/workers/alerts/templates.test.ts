import t from 'tap'
import type { AlertMessage } from '../../../src/model/alerts.ts'
import { bodyOf } from '../../../workers/alerts/templates.ts'
import { alertMessage, HOSTILE } from '../../fixtures/alert-targets.ts'

const hostile = (): AlertMessage => {
  const message = alertMessage({ rule: { id: 'r', name: HOSTILE } })
  return {
    ...message,
    alerts: message.alerts.map((alert) => ({ ...alert, objectName: HOSTILE, text: `${HOSTILE}\n# down` })),
  }
}
// oxlint-disable-next-line typescript/no-explicit-any -- bodies of five shapes are looked into
const body = (template: Parameters<typeof bodyOf>[1], message = hostile()): any => bodyOf(message, template)

t.test('Slack gets plain text, with its markup characters escaped', (test) => {
  const { text, blocks } = body('slack')
  test.notMatch(text, '<!channel>')
  test.match(text, '&lt;!channel&gt;')
  test.match(text, '&amp;')
  test.match(blocks, [{ type: 'section', text: { type: 'plain_text', emoji: false, text: /<!channel>/ } }])
  test.end()
})

t.test('Teams gets an adaptive card of text runs, which are never Markdown', (test) => {
  const { type, attachments } = body('teams')
  test.equal(type, 'message')
  const [{ contentType, content }] = attachments
  test.equal(contentType, 'application/vnd.microsoft.card.adaptive')
  test.match(content, { type: 'AdaptiveCard', version: '1.4' })
  for (const { type: block, inlines } of content.body)
    test.match([block, inlines[0].type], ['RichTextBlock', 'TextRun'])
  test.match(JSON.stringify(content), '# down', 'as written')
  test.end()
})

t.test('Mattermost and Discord mention no user, and show no link', (test) => {
  for (const text of [body('mattermost').text, body('discord').content]) {
    test.notMatch(text, /@(?!\u200b)/, 'no user is mentioned')
    test.notMatch(text, /(?<!\\)\[a\]/)
    test.notMatch(text, /https:\/\//)
    test.notMatch(text, '\u202e')
    test.equal(text.split('\n').length, 3, 'a name is not a line of its own')
  }
  test.match(body('discord'), { allowed_mentions: { parse: [] } })
  test.end()
})

t.test('a text that is too long for a system is truncated, and never in the middle of a character', (test) => {
  const long = alertMessage()
  const message = { ...long, alerts: long.alerts.map((alert) => ({ ...alert, text: '😀'.repeat(20_000) })) }
  test.ok(body('discord', message).content.length <= 2_000)
  test.ok(body('slack', message).blocks[0].text.text.length <= 3_000)
  test.ok(body('mattermost', message).text.length <= 16_000)
  for (const text of [body('discord', message).content, body('slack', message).blocks[0].text.text])
    test.ok(text.isWellFormed(), 'no half character')
  test.end()
})

t.test('JSON has all the data', (test) => {
  test.same(body('json', alertMessage()), {
    type: 'fulcrum.alert',
    title: '[critical] Firing: servers down: shop/web-1',
    ...alertMessage(),
  })
  test.end()
})
