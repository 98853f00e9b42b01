import type { L7Frontend } from '../../model/layer7.ts'
import type { ConfigView } from '../../model/sections.ts'
import { logStatements } from './access-log.ts'
import { canonicalIp, isIpv6 } from './address.ts'
import { listName } from './certificates.ts'
import { isResting } from '../resting.ts'
import { frontendRules } from './l7-rules.ts'
import { commentText, linesOf, type Owner, type Statement, textOf } from './statement.ts'
import { httpsStatements, portRanges, tlsOptions } from './tls.ts'

/** Longest wait for the headers of a request, so that slow senders cannot hold connections open. */
const REQUEST_HEADERS_S = 10

/** A disabled frontend is left out: its ports are free for others, and `enabled` is a reload like any new frontend. */
export function frontendStatements(frontend: L7Frontend, view: ConfigView, folder: string): readonly Statement[] {
  const owned = (field: string | undefined): Owner => ({ section: 'l7Frontends', id: frontend.id, field })
  if (!frontend.enabled || isResting(frontend, view)) {
    const state = frontend.enabled ? 'rests: its floating IP is disabled' : 'is disabled'
    const text = `# frontend ${frontend.id} (${commentText(frontend.name)}) ${state}`
    return [{ text, owner: owned(undefined), kind: 'comment' }]
  }
  const line = linesOf('l7Frontends', frontend.id)
  const statements: Statement[] = [
    { text: `# ${commentText(frontend.name)}`, owner: owned('name'), kind: 'comment' },
    { text: `frontend ${frontend.id}`, owner: owned(undefined), kind: 'statement' },
    line(`mode ${frontend.mode}`, 'mode'),
    ...binds(frontend, view, folder).map((bind) => line(bind, 'ports')),
    line(`timeout client ${frontend.timeoutClient}s`, 'timeoutClient'),
  ]
  if (frontend.maxConn !== null) statements.push(line(`maxconn ${frontend.maxConn}`, 'maxConn'))
  if (frontend.mode === 'http') {
    statements.push(
      line(`timeout http-request ${Math.min(REQUEST_HEADERS_S, frontend.timeoutClient)}s`, 'timeoutClient'),
      // Without this, HAProxy would end idle keep-alive connections after the wait for headers.
      line(`timeout http-keep-alive ${frontend.timeoutClient}s`, 'timeoutClient'),
    )
    if (frontend.forwardFor) statements.push(line('option forwardfor', 'forwardFor'))
    for (const text of logStatements(frontend)) statements.push(line(text, 'logs'))
    for (const [text, field] of httpsStatements(frontend)) statements.push(line(text, field))
  }
  for (const [text, field] of frontendRules(frontend, view)) statements.push(line(text, field))
  const backend = frontend.defaultBackendId === null ? undefined : view.get('l7Backends', frontend.defaultBackendId)
  // Without a default backend HAProxy answers 503 (http) or closes (tcp), which is what a disabled backend means.
  if (backend?.enabled === true) statements.push(line(`default_backend ${backend.id}`, 'defaultBackendId'))
  return statements
}

/** One bind line for each port or range. `::` takes IPv6 alone, so that `0.0.0.0` can have the same port. */
function binds(frontend: L7Frontend, view: ConfigView, folder: string): readonly string[] {
  const address = isIpv6(frontend.ip) ? `[${frontend.ip}]` : frontend.ip
  const options = canonicalIp(frontend.ip) === '::' ? ' v6only' : ''
  return portRanges(frontend).map(({ first, last, isTls }) => {
    const tls = isTls ? tlsOptions(frontend, view, `${folder}/${listName(frontend.id)}`) : ''
    return `bind ${address}:${first === last ? first : `${first}-${last}`}${options}${tls}`
  })
}

/** All that a running HAProxy would have to be reloaded for, wherever its files are. */
export function frontendSyntax(frontend: L7Frontend, view: ConfigView): string {
  const statements = frontendStatements(frontend, view, '').filter(({ kind }) => kind !== 'comment')
  // The order of its certificates is in a file of its own.
  return statements.length === 0 ? '' : `${textOf(statements)}${(frontend.certificates ?? []).join(' ')}\n`
}
