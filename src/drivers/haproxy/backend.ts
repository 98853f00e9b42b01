import type { L7Backend } from '../../model/layer7.ts'
import type { ConfigView } from '../../model/sections.ts'
import { answerLines } from './answers.ts'
import { checkLines, isProgram } from './checks.ts'
import { backendRules } from './l7-rules.ts'
import { rawOfProxy } from './raw.ts'
import { hashes, portionsOf, type Server, serversOf } from './server.ts'
import { SHARED } from './sharing.ts'
import { commentText, endpointText, type Line, linesOf, type Owner, type Statement, textOf } from './statement.ts'

export const FALLBACK = 'fallback'
export const DEFAULT_COOKIE = 'FULCRUMID'
const DEFAULT_STICK_S = 1800
/**
 * Maximum number of addresses in a stick table; the oldest are dropped. Memory is allocated as they come, about 120
 * bytes each.
 */
const STICK_ENTRIES = '1m'

/** A disabled backend is left out; frontends that name it answer as if they had no backend. */
export function backendStatements(backend: L7Backend, view: ConfigView, checks: string): readonly Statement[] {
  const owner: Owner = { section: 'l7Backends', id: backend.id, field: undefined }
  if (!backend.enabled) {
    return [{ text: `# backend ${backend.id} (${commentText(backend.name)}) is disabled`, owner, kind: 'comment' }]
  }
  return [
    { text: `# ${commentText(backend.name)}`, owner, kind: 'comment' },
    ...backendHead(backend, checks),
    ...rawOfProxy(view, 'backends', backend.id),
    ...serversOf(backend, view).flatMap((entry) => serverStatements(entry, owner)),
    ...fallbackStatements(backend),
  ]
}

/** All statements of a backend except its real servers; `checks` is the folder of its programs. */
function backendHead(backend: L7Backend, checks: string): readonly Statement[] {
  const line = linesOf('l7Backends', backend.id)
  return [
    {
      text: `backend ${backend.id}`,
      owner: { section: 'l7Backends', id: backend.id, field: undefined },
      kind: 'statement',
    },
    line(`mode ${backend.mode}`, 'mode'),
    // The whole URI of an HTTP/2 request has a scheme and a host, so the same path would go to another server.
    line(`balance ${backend.balance}${backend.balance === 'uri' ? ' path-only' : ''}`, 'balance'),
    // The only kind of hash that lets servers change weight, join and leave at runtime.
    ...(hashes(backend) ? [line('hash-type consistent', 'balance')] : []),
    line(`timeout connect ${backend.timeoutConnect}s`, 'timeoutConnect'),
    line(`timeout server ${backend.timeoutServer}s`, 'timeoutServer'),
    // A client whose server is gone is sent to another one, despite cookies and stick tables.
    line('option redispatch', 'persistence'),
    ...settingLines(backend).map(([text, field]) => line(text, field)),
    ...answerLines(backend, 'backend').map(([text, field]) => line(text, field)),
    ...persistenceLines(backend.persistence).map((text) => line(text, 'persistence')),
    ...backendRules(backend).map(([text, field]) => line(text, field)),
    ...checkLines(backend, checks).map((text) => line(text, 'healthCheck')),
  ]
}

/** Settings that replace HAProxy's defaults. */
function settingLines({ httpReuse = 'safe', timeouts = {}, healthCheck }: L7Backend): readonly Line[] {
  const { queue, tunnel, serverFin } = timeouts
  // With it, HAProxy would end a program after the timeout for connections: the sandbox has this limit instead.
  const check = isProgram(healthCheck) ? undefined : timeouts.check
  const chosen = { queue, tunnel, 'server-fin': serverFin, check }
  return [
    ...(httpReuse === 'safe' ? [] : [[`http-reuse ${httpReuse}`, 'httpReuse'] as const]),
    ...Object.entries(chosen).flatMap(([name, seconds]) =>
      seconds === undefined ? [] : [[`timeout ${name} ${seconds}s`, 'timeouts'] as const],
    ),
  ]
}

function persistenceLines(persistence: L7Backend['persistence']): readonly string[] {
  if (persistence.type === 'cookie') {
    const name = persistence.cookieName ?? DEFAULT_COOKIE
    return [
      `cookie ${name} insert indirect nocache httponly attr "SameSite=Lax"`,
      // The keyword `secure` above would drop the cookie for clients without TLS: a backend may have frontends of both
      // kinds.
      `http-after-response replace-header Set-Cookie '^(${name}=.*)' '\\1; Secure' if { ssl_fc }`,
    ]
  }
  if (persistence.type === 'ip') {
    const expire = `${persistence.timeout ?? DEFAULT_STICK_S}s`
    // Entries name servers, so they stay right when servers move in the file.
    return [`stick-table type ipv6 size ${STICK_ENTRIES} expire ${expire} srvkey name ${SHARED}`, 'stick on src']
  }
  return []
}

function serverStatements(entry: Server, backend: Owner): readonly Statement[] {
  return [
    { text: entry.comment, owner: { section: 'realServers', id: entry.id, field: 'name' }, kind: 'comment' },
    {
      text: entry.line,
      owner: { section: backend.section, id: backend.id, field: `reals.${entry.id}` },
      kind: 'server',
    },
  ]
}

/**
 * Backup servers are used one at a time in file order: the fallback, being last, answers only while no real server
 * accepts new connections.
 */
function fallbackStatements(backend: L7Backend): readonly Statement[] {
  if (backend.fallback === null) return []
  const stick = backend.persistence.type === 'ip' ? ' non-stick' : ''
  return [
    {
      text: `    server ${FALLBACK} ${endpointText(backend.fallback.ip, backend.fallback.port)} backup${stick}`,
      owner: { section: 'l7Backends', id: backend.id, field: 'fallback' },
      kind: 'statement',
    },
  ]
}

/** Returns the text of all statements without building the objects: a backend may have 20,000 servers. */
export function backendText(backend: L7Backend, view: ConfigView, checks: string): string {
  if (!backend.enabled) return textOf(backendStatements(backend, view, checks))
  const head = [...backendHead(backend, checks), ...rawOfProxy(view, 'backends', backend.id)]
  let text = `# ${commentText(backend.name)}\n${textOf(head)}`
  for (const portion of portionsOf(backend, view)) text += portion.text
  return text + textOf(fallbackStatements(backend))
}

/** Returns the text whose changes need a reload: everything but comments and real servers. */
export function backendSkeleton(backend: L7Backend): string {
  return backend.enabled ? textOf(backendHead(backend, '')) + textOf(fallbackStatements(backend)) : ''
}
