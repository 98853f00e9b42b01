/** The reason for an automatic backup. */
export type AutoKind = 'apply' | 'daily'

/**
 * `<hostname>-YYYYMMDD-HHMMSS`, followed by the reason of an automatic one, and by a number if the name would be taken.
 */
const NAME = /^[A-Za-z0-9][A-Za-z0-9-]{0,62}-(\d{8}-\d{6})(?:-(apply|daily))?(?:-(\d{1,3}))?\.json$/
const NUMBER_MAX = 999

export const isBackupName = (text: string): boolean => NAME.test(text)

export function kindOf(name: string): AutoKind | undefined {
  const kind = NAME.exec(name)?.[2]
  return kind === 'apply' || kind === 'daily' ? kind : undefined
}

/** Sorts by the time in the names, oldest first, whatever the hostname was. */
export function oldestFirst(names: readonly string[]): readonly string[] {
  const stampOf = (name: string) => {
    const [, stamp = '', , number = '1'] = NAME.exec(name) ?? []
    return `${stamp} ${number.padStart(3, '0')}`
  }
  return names.toSorted((a, b) => (stampOf(a) < stampOf(b) ? -1 : 1))
}

/** Returns the time in a name, in milliseconds since the Unix epoch. */
export function madeAt_ms(name: string): number {
  const stamp = NAME.exec(name)?.[1] ?? ''
  const [, year, month, day, hour, minute, second] = /^(\d{4})(\d\d)(\d\d)-(\d\d)(\d\d)(\d\d)$/.exec(stamp) ?? []
  return Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`)
}

/** Yields the possible names of a backup, best first. */
export function* namesFor(hostname: string, createdAt: string, kind: AutoKind | undefined): Generator<string, void> {
  const host = hostname
    .replaceAll(/[^A-Za-z0-9-]/g, '-')
    .replace(/^-+/, '')
    .slice(0, 63)
  const [day, time] = createdAt.replaceAll(/[-:]/g, '').split(/[T.Z]/)
  const stem = `${host === '' ? 'node' : host}-${day}-${time}${kind === undefined ? '' : `-${kind}`}`
  yield `${stem}.json`
  for (let number = 2; number <= NUMBER_MAX; number += 1) yield `${stem}-${number}.json`
}

/** Formats an ISO 8601 time as `DD/MM/YYYY HH:MM:SS +0000`. */
export function shownTime(iso: string): string {
  const [year, month, day, time] = [iso.slice(0, 4), iso.slice(5, 7), iso.slice(8, 10), iso.slice(11, 19)]
  return `${day}/${month}/${year} ${time} +0000`
}
