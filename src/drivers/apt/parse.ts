import type { PendingPackage } from '../../model/software.ts'

/** One line `Inst` of `apt-get --simulate`. */
export interface Installation {
  readonly name: string
  readonly currentVersion: string
  readonly pendingVersion: string
  readonly architecture: string
  readonly repository: string
  readonly release: string
  readonly security: boolean
}

/** `Inst NAME [OLD] (NEW ORIGIN/SUITE, ORIGIN/SUITE [ARCH])`, followed by anything. */
const INST = /^Inst (\S+) (?:\[([^\]]*)\] )?\((\S+) ?(.*?) ?\[([^\]]+)\]\)/gm

export function parseInstallations(output: string): readonly Installation[] {
  return [...output.matchAll(INST)].map(
    ([, name = '', currentVersion = '', pendingVersion = '', origins = '', arch = '']) => {
      const all = origins
        .split(', ')
        .filter((origin) => origin !== '')
        .map(originOf)
      const security = all.find(isSecurity)
      const { repository, release } = security ?? all[0] ?? { repository: '', release: '' }
      return {
        name: name.replace(/:[a-z0-9]+$/, ''),
        currentVersion,
        pendingVersion,
        architecture: arch,
        repository,
        release,
        security: security !== undefined,
      }
    },
  )
}

/** Parses `Debian-Security:12/stable-security`; a repository without a Release file has no suite. */
function originOf(origin: string) {
  const at = origin.lastIndexOf('/')
  return at === -1
    ? { repository: origin, release: '' }
    : { repository: origin.slice(0, at), release: origin.slice(at + 1) }
}

const isSecurity = ({ repository, release }: { readonly repository: string; readonly release: string }) =>
  /^debian-security(:|$)/i.test(repository) || release.endsWith('-security')

interface Described {
  readonly name: string
  readonly version: string
  readonly summary: string
  readonly description: string
  readonly url: string
}

/** Parses the paragraphs of `apt-cache show`. */
export function parseShow(output: string): readonly Described[] {
  return output.split(/\n{2,}/).flatMap((paragraph) => {
    const field = (name: string) => new RegExp(`^${name}: *(.*)$`, 'm').exec(paragraph)?.[1] ?? ''
    const name = field('Package')
    if (name === '') return []
    const [, summary = '', more = ''] = /^Description(?:-\w+)?: *(.*)((?:\n .*)*)/m.exec(paragraph) ?? []
    return [{ name, version: field('Version'), summary, description: longText(more), url: field('Homepage') }]
  })
}

/** Joins the continuation lines; a single dot is an empty line. */
const longText = (text: string) =>
  text
    .split('\n')
    .slice(1)
    .map((line) => (line === ' .' ? '' : line.slice(1)))
    .join('\n')

/** Lists the pending packages, each with its own description. */
export function pendingPackages(simulation: string, shown: string): readonly PendingPackage[] {
  const described = new Map(parseShow(shown).map((one) => [`${one.name} ${one.version}`, one]))
  return parseInstallations(simulation)
    .map((one) => {
      const { summary = '', description = '', url = '' } = described.get(`${one.name} ${one.pendingVersion}`) ?? {}
      return { ...one, summary, description, url, license: '' }
    })
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

/** Sums the bytes of `apt-get --print-uris`: `'URI' FILE SIZE HASH`. */
export function downloadBytes(output: string): number {
  return [...output.matchAll(/^'[^']*' \S+ (\d+)/gm)].reduce((total, [, size]) => total + Number(size), 0)
}

/** Fields of a line of dpkg-query: name, architecture, version and state. */
export const INSTALLED_FORMAT = ['Package', 'Architecture', 'Version', 'db:Status-Status']
  .map((name) => `\${${name}}`)
  .join(' ')
  .concat(String.raw`\n`)

export interface ChangedPackage {
  readonly name: string
  /** '' if it was not installed. */
  readonly from: string
  /** '' if it is gone. */
  readonly to: string
}

/** Returns the differences between two lists of installed packages. */
export function changedPackages(before: string, after: string): readonly ChangedPackage[] {
  const [old, now] = [installed(before), installed(after)]
  const names = [...new Set([...old.keys(), ...now.keys()])].toSorted()
  return names
    .map((key) => ({ name: key.split(' ')[0] ?? key, from: old.get(key) ?? '', to: now.get(key) ?? '' }))
    .filter(({ from, to }) => from !== to)
}

function installed(list: string): ReadonlyMap<string, string> {
  const entries = [...list.matchAll(/^(\S+) (\S+) (\S+) installed$/gm)]
  return new Map(entries.map(([, name = '', arch = '', version = '']) => [`${name} ${arch}`, version]))
}

/** Parses the fields of `dpkg-deb --field`. */
export function debFields(output: string): { readonly name: string; readonly version: string; readonly arch: string } {
  const field = (name: string) => new RegExp(`^${name}: *(\\S+)$`, 'm').exec(output)?.[1] ?? ''
  return { name: field('Package'), version: field('Version'), arch: field('Architecture') }
}
