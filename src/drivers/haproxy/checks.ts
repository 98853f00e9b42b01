import { dirname } from 'node:path'
import { type AskedCheck, askedCheck } from '../../health-checks/asked-check.ts'
import { checkFrom } from '../../health-checks/built-in.ts'
import { tidyingStep, writingSteps } from '../check-file-steps.ts'
import { type CheckFile, checkFiles, wrapperName } from '../../health-checks/wrapper.ts'
import { isWeb } from '../../health-checks/web-values.ts'
import { CHECK_DEFAULTS, type HealthCheckSetting } from '../../model/health-check.ts'
import { backendsOf } from '../../model/l7-rules.ts'
import type { L7Backend } from '../../model/layer7.ts'
import type { ConfigView } from '../../model/sections.ts'
import type { HaproxyPaths } from './paths.ts'
import { servedFrontends } from './resting.ts'
import { quote } from './statement.ts'

/** A folder of ours beside haproxy.cfg: foreign files are removed from it. */
export const checkFolder = ({ configFile }: HaproxyPaths): string => `${dirname(configFile)}/fulcrum-checks`

/**
 * Returns the lines of a check that HAProxy does itself; undefined where a program must be started. [] is a mere
 * connection.
 */
function nativeLines({ id, values }: AskedCheck): readonly string[] | undefined {
  switch (id) {
    case 'tcp':
      return []
    case 'http':
    case 'https':
      return values['text'] === undefined && isWeb(values) ? webLines(values) : undefined
    case 'smtp':
      return smtpLines(values['domain'] ?? 'localhost')
    case 'ldap':
      return ['option ldap-check']
    case 'mysql':
      // HAProxy refuses a user without a name; to the script it means no user.
      return [`option mysql-check${(values['user'] ?? '') === '' ? '' : ` user ${quote(values['user'] ?? '')}`}`]
    default:
      return undefined
  }
}

/**
 * HAProxy's own smtpchk takes a greeting of several lines, such as a legal notice, for an error. The last line of a
 * reply has a space after its code.
 */
function smtpLines(domain: string): readonly string[] {
  const success = String.raw`tcp-check expect rstring '(^|\n)2[0-9][0-9][ \r]'`
  const send = (words: string): string => `tcp-check send ${words}${String.raw`\r\n`}`
  return [
    'option tcp-check',
    'tcp-check connect default linger',
    success,
    send(String.raw`EHLO\ ${quote(domain)}`),
    success,
    send('QUIT'),
    success,
  ]
}

/** Values follow the rules of settings, because a host is a format here, in which % would call functions of HAProxy. */
function webLines({ path, host, expect }: AskedCheck['values']): readonly string[] {
  const uri = quote(path ?? CHECK_DEFAULTS.path)
  // HTTP/1.1 requires a Host header; without a host, HTTP/1.0 is the correct request.
  const version = host === undefined ? 'ver HTTP/1.0' : `ver HTTP/1.1 hdr Host ${quote(host)}`
  return [
    'option httpchk',
    `http-check send meth GET uri ${uri} ${version}`,
    `http-check expect status ${quote(expect ?? CHECK_DEFAULTS.expect)}`,
  ]
}

/** Whether HAProxy starts a program for this check. */
export function isProgram(setting: HealthCheckSetting): boolean {
  const asked = askedCheck(setting)
  return asked !== undefined && nativeLines(asked) === undefined
}

/** Returns the backend's lines for its check. */
export function checkLines({ id, healthCheck }: L7Backend, folder: string): readonly string[] {
  const asked = askedCheck(healthCheck)
  if (asked === undefined) return []
  return (
    nativeLines(asked) ?? ['option external-check', `external-check command ${quote(`${folder}/${wrapperName(id)}`)}`]
  )
}

/** The options of servers for their check. */
export interface ServerCheck {
  readonly text: string
  readonly isTls: boolean
  /** Host header of the check, if it has one. */
  readonly host: string | undefined
}

export function serverCheck(setting: HealthCheckSetting): ServerCheck | undefined {
  const asked = askedCheck(setting)
  if (asked === undefined) return undefined
  const { id, values, interval, rise = CHECK_DEFAULTS.rise, fall } = asked
  return {
    text: ` check inter ${interval}s rise ${rise} fall ${fall}`,
    isTls: id === 'https' && !isProgram(setting),
    host: isProgram(setting) ? undefined : values['host'],
  }
}

/** Returns the enabled backends whose checks start programs. */
export function programBackends(view: ConfigView): readonly L7Backend[] {
  return [...view.list('l7Backends')].filter(({ enabled, healthCheck }) => enabled && isProgram(healthCheck))
}

/**
 * Returns the files that haproxy.cfg names. A backend with several frontends is checked with the address of the first.
 */
export function haproxyCheckFiles(view: ConfigView, paths: HaproxyPaths): readonly CheckFile[] {
  const backends = programBackends(view)
  if (backends.length === 0) return []
  const virtuals = new Map<string, { ip: string; port: number | undefined }>()
  for (const frontend of servedFrontends(view).toSorted((a, b) => (a.id < b.id ? -1 : 1))) {
    const { enabled, ip, ports } = frontend
    if (!enabled) continue
    for (const id of backendsOf(frontend))
      if (!virtuals.has(id)) virtuals.set(id, { ip, port: Number.parseInt(ports, 10) })
  }
  const checkOf = checkFrom((id) => view.get('healthChecks', id))
  return checkFiles(checkFolder(paths), backends, checkOf, ({ id }) => virtuals.get(id) ?? { ip: '0.0.0.0', port: 0 })
}

/** Writes check programs before HAProxy reads its configuration, and removes them after. */
export function checkSteps(running: ConfigView | undefined, desired: ConfigView, paths: HaproxyPaths) {
  const folder = checkFolder(paths)
  const before = running === undefined ? [] : haproxyCheckFiles(running, paths)
  const wanted = haproxyCheckFiles(desired, paths)
  const writing = writingSteps(folder, before, wanted)
  const names = new Set(wanted.map(({ name }) => name))
  const isUntidy = running === undefined ? wanted.length > 0 : before.some(({ name }) => !names.has(name))
  const trying = writing.filter(({ kind }) => kind === 'check')
  return {
    trying,
    writing: writing.filter(({ kind }) => kind !== 'check'),
    tidying: isUntidy ? [tidyingStep(folder, wanted)] : [],
  }
}
