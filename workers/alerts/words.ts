import type { AlertMessage, Phase, ToldAlert } from '../../src/model/alerts.ts'

/** The words of a message. Values from names and programs are kept to one line and never read as markup. */

const WORDS: Readonly<Record<Phase, string>> = {
  firing: 'Firing',
  repeated: 'Still firing',
  resolved: 'Resolved',
  test: 'Test',
}

/** Removes line breaks and characters that reverse the text direction. */
export const plain = (text: string): string =>
  // oxlint-disable-next-line no-control-regex -- they are what is taken out
  text.replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]+/g, ' ')

export function titleOf({ phase, severity, rule, alerts, count }: AlertMessage): string {
  const [first] = alerts
  const what = count === 1 && first !== undefined ? first.objectName || first.kind : `${count} alerts`
  return plain(`[${severity}] ${WORDS[phase]}: ${rule.name}: ${what}`)
}

export const lineOf = ({ text, since }: ToldAlert): string => plain(`${text} (since ${since})`)

/** The body of a message, line by line. */
export function linesOf(message: AlertMessage): readonly string[] {
  const { alerts, count, nodeId, id } = message
  const more = count - alerts.length
  return [
    ...alerts.map(lineOf),
    ...(more > 0 ? [`… and ${more} more: GET /api/v1/alerts lists them`] : []),
    `Node ${plain(nodeId)}, message ${id}`,
  ]
}
