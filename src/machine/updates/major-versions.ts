import { readFileSync } from 'node:fs'
import { compareVersions } from '../../drivers/apt/version.ts'
import type { SuiteChange } from '../../drivers/apt/sources.ts'

/** Part of the daemon's package. */
export const MAJOR_VERSIONS_FILE = '/usr/share/fulcrum/major-versions.json'

export interface MajorVersion {
  readonly versionNumber: string
  /** Text of the operating system's os-release. */
  readonly osRelease: string
  readonly changelogURL: string
  /** Whether the operating system is upgraded too. */
  readonly osUpdate: boolean
  /** Suites of the package sources that change. */
  readonly suites: readonly SuiteChange[]
}

/**
 * Returns the versions newer than this one, oldest first; none if there is no such file. Throws if the file is invalid.
 */
export function majorVersions(file: string, version: string): readonly MajorVersion[] {
  const text = textOf(file)
  if (text === undefined) return []
  const list: unknown = JSON.parse(text)
  if (!Array.isArray(list) || !list.every(isMajorVersion)) throw new Error(`${file} is not a list of versions`)
  return list
    .filter(({ versionNumber }) => compareVersions(versionNumber, version) > 0)
    .toSorted((a, b) => compareVersions(a.versionNumber, b.versionNumber))
}

const isText = (value: unknown) => typeof value === 'string' && value !== ''

function isMajorVersion(value: unknown): value is MajorVersion {
  if (typeof value !== 'object' || value === null) return false
  const field = (name: string): unknown => Reflect.get(value, name)
  const suites = field('suites')
  return (
    ['versionNumber', 'osRelease', 'changelogURL'].every((name) => isText(field(name))) &&
    typeof field('osUpdate') === 'boolean' &&
    Array.isArray(suites) &&
    suites.every((suite: unknown) => isSuiteChange(suite))
  )
}

function isSuiteChange(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  return isText(Reflect.get(value, 'from')) && isText(Reflect.get(value, 'to'))
}

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}
