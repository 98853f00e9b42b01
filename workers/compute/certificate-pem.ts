/** One block of a PEM text. */
export interface PemBlock {
  readonly label: string
  readonly der: Buffer
  /** The original block, for keys in the old encryption format, which has headers of its own. */
  readonly text: string
}

const BEGIN = '-----BEGIN '
const END = '-----END '
const DASHES = '-----'
/** More than any chain needs, and few enough to compare all pairs. */
export const BLOCKS_MAX = 40

/** Returns the blocks of a text, ignoring the text around them; or the problem with it. Reads the text once. */
export function pemBlocks(text: string): readonly PemBlock[] | string {
  const blocks: PemBlock[] = []
  for (let at = text.indexOf(BEGIN); at !== -1; at = text.indexOf(BEGIN, at)) {
    if (blocks.length === BLOCKS_MAX) return `contains more than ${BLOCKS_MAX} PEM blocks`
    const labelEnd = text.indexOf(DASHES, at + BEGIN.length)
    const label = labelEnd === -1 ? '' : text.slice(at + BEGIN.length, labelEnd)
    if (!/^[A-Z0-9 ]{1,64}$/.test(label)) return `has a PEM block without a valid first line`
    const end = text.indexOf(`${END}${label}${DASHES}`, labelEnd)
    if (end === -1) return `has a PEM block ${label} without an end`
    const body = text.slice(labelEnd + DASHES.length, end)
    const next = end + END.length + label.length + DASHES.length
    const der = derOf(body)
    if (der === undefined) return `has a PEM block ${label} that is not base64`
    blocks.push({ label, der, text: text.slice(at, next) })
    at = next
  }
  return blocks
}

function derOf(body: string): Buffer | undefined {
  // Headers such as Proc-Type end with an empty line.
  const headers = /^\s*[A-Za-z-]+:[^]*?\r?\n\r?\n/.exec(body)?.[0] ?? ''
  const base64 = body.slice(headers.length).replaceAll(/\s+/g, '')
  return base64 !== '' && base64.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(base64)
    ? Buffer.from(base64, 'base64')
    : undefined
}
