/** Compares Debian versions: negative when `a` is older than `b`. */
export function compareVersions(a: string, b: string): number {
  const [first, second] = [split(a), split(b)]
  return (
    first.epoch - second.epoch ||
    compareParts(first.upstream, second.upstream) ||
    compareParts(first.revision, second.revision)
  )
}

function split(version: string) {
  const [, epoch = '0', rest = ''] = /^(?:(\d+):)?(.*)$/.exec(version.trim()) ?? []
  const at = rest.lastIndexOf('-')
  return at === -1
    ? { epoch: Number(epoch), upstream: rest, revision: '0' }
    : { epoch: Number(epoch), upstream: rest.slice(0, at), revision: rest.slice(at + 1) }
}

/**
 * Compares text and numbers alternately; text by characters, with ~ before the end and letters before all other
 * characters.
 */
function compareParts(a: string, b: string): number {
  const [first, second] = [parts(a), parts(b)]
  for (let index = 0; index < Math.max(first.length, second.length); index++) {
    const [one = '', other = ''] = [first[index], second[index]]
    const order = index % 2 === 0 ? compareText(one, other) : compareNumbers(one, other)
    if (order !== 0) return order
  }
  return 0
}

/** Text at even indices, numbers at odd ones. */
const parts = (text: string) => text.split(/(\d+)/)

function compareNumbers(a: string, b: string): number {
  const [one, other] = [BigInt(a === '' ? '0' : a), BigInt(b === '' ? '0' : b)]
  return one === other ? 0 : one < other ? -1 : 1
}

function compareText(a: string, b: string): number {
  for (let index = 0; index < Math.max(a.length, b.length); index++) {
    const order = weight(a[index]) - weight(b[index])
    if (order !== 0) return order
  }
  return 0
}

function weight(character: string | undefined): number {
  if (character === '~') return -1
  if (character === undefined) return 0
  return /[a-zA-Z]/.test(character) ? character.charCodeAt(0) : character.charCodeAt(0) + 256
}
