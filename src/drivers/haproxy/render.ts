import { dirname } from 'node:path'
import { isLogged } from '../../model/access-log.ts'
import type { L7Frontend } from '../../model/layer7.ts'
import type { ConfigView } from '../../model/sections.ts'
import { ringStatements } from './access-log.ts'
import { backendStatements, backendText } from './backend.ts'
import { certificateBase, certificateFolder } from './certificates.ts'
import { checkFolder, programBackends } from './checks.ts'
import { frontendStatements } from './frontend.ts'
import { limitsOf } from './l7-rules.ts'
import { mapFolder } from './maps.ts'
import type { Folders, HaproxyPaths } from './paths.ts'
import { hasNames, RESOLVER_PATIENCE, resolversLines } from './host-names.ts'
import { rawOfWhole } from './raw.ts'
import { servedFrontends } from './resting.ts'
import { alone, amongNodes, localPeer, type Sharing, sharesTable } from './sharing.ts'
import { linesOf, type Owner, quote, type Statement, textOf } from './statement.ts'
import { needsDhParameters } from './tls.ts'

/**
 * Renders the whole haproxy.cfg. Proxies are named by record ids and servers by real-server ids, so nothing that a
 * person typed becomes syntax; the same records give the same bytes.
 */
export function renderConfig(view: ConfigView, paths: HaproxyPaths): string {
  let text = textOf(preamble(view, paths))
  const folders = foldersOf(paths)
  for (const frontend of byId(view.list('l7Frontends')))
    text += `\n${textOf(frontendStatements(frontend, view, folders))}`
  for (const backend of byId(view.list('l7Backends'))) text += `\n${backendText(backend, view, checkFolder(paths))}`
  return text
}

const foldersOf = (paths: HaproxyPaths): Folders => ({
  certificates: certificateFolder(paths),
  maps: mapFolder(paths),
  sockets: dirname(paths.peersSocket),
  challenges: paths.challengeSocket,
  account: paths.runAs?.user,
})

/** Returns the record behind each line of the same file; the first line is at index 0. */
export function lineOwners(view: ConfigView, paths: HaproxyPaths): readonly (Owner | undefined)[] {
  const statements = [...preamble(view, paths)]
  const folders = foldersOf(paths)
  for (const frontend of byId(view.list('l7Frontends'))) {
    statements.push(EMPTY, ...frontendStatements(frontend, view, folders))
  }
  for (const backend of byId(view.list('l7Backends'))) {
    statements.push(EMPTY)
    for (const statement of backendStatements(backend, view, checkFolder(paths))) statements.push(statement)
  }
  return statements.map(({ owner }) => owner)
}

function preamble(view: ConfigView, paths: HaproxyPaths): readonly Statement[] {
  const isShared = sharesTable(view)
  const sharing = isShared ? paths.sharing : undefined
  const served = byId(servedFrontends(view)).filter(({ enabled }) => enabled)
  const ring = served.some(({ mode, logs }) => mode === 'http' && isLogged(logs))
    ? [EMPTY, ...ringStatements.map(plain)]
    : []
  const statements = [
    ...globalStatements(view, paths, sharing),
    ...DEFAULTS,
    ...rawOfWhole(view, 'defaults'),
    ...ring,
    ...resolversLines(view, paths.nameServers).map(plain),
  ]
  if (!isShared) return statements
  const { peersSocket, runAs } = paths
  const peers = sharing === undefined ? alone(peersSocket, runAs?.user) : amongNodes(sharing, certificateFolder(paths))
  const limits = served.flatMap((frontend) => limitStatements(frontend))
  return [...statements, EMPTY, ...peers.map(plain), ...limits]
}

/** Sorted, because a store's order of records is not part of the configuration. */
export function byId<R extends { readonly id: string }>(records: Iterable<R>): readonly R[] {
  return [...records].sort((a, b) => (a.id < b.id ? -1 : 1))
}

const EMPTY: Statement = { text: '', owner: undefined, kind: 'comment' }
const plain = (text: string): Statement => ({ text, owner: undefined, kind: 'statement' })
const comment = (text: string): Statement => ({ text, owner: undefined, kind: 'comment' })

/** HAProxy starts programs only if both lines allow it. */
const PROGRAMS = [plain('    external-check'), plain('    insecure-fork-wanted')]

function globalStatements(view: ConfigView, paths: HaproxyPaths, sharing?: Sharing): readonly Statement[] {
  const { runAs, stateFile } = paths
  const base = certificateBase(view, paths)
  const wantsDh = needsDhParameters(servedFrontends(view), view)
  return [
    comment('# Written by Fulcrum from its configuration. Changes made here are lost at the next apply.'),
    plain('global'),
    plain(`    stats socket ${quote(paths.statsSocket)} mode 600 level admin expose-fd listeners`),
    ...(runAs === undefined ? [] : [plain(`    user ${runAs.user}`), plain(`    group ${runAs.group}`)]),
    comment('    # Connections that outlive a reload stay with the old worker until they end, but not for ever.'),
    plain('    hard-stop-after 12h'),
    comment('    # The number of connections follows the limit of open files; some machines set that absurdly high.'),
    plain('    fd-hard-limit 1048576'),
    comment('    # Spread over a tenth of their interval, the checks of many servers do not come in bursts.'),
    plain('    spread-checks 10'),
    plain(`    localpeer ${localPeer(sharing)}`),
    ...(programBackends(view).length > 0 ? PROGRAMS : []),
    // OpenSSL before 3.5 has no QUIC API of its own; this option makes HAProxy work with it.
    ...(servedFrontends(view).some(({ enabled, http3 }) => enabled && http3 === true)
      ? [plain('    limited-quic')]
      : []),
    ...(hasNames(view, 'start') ? [plain(`    ${RESOLVER_PATIENCE}`)] : []),
    ...(base === undefined ? [] : [plain(`    crt-base ${quote(base)}`)]),
    ...(wantsDh ? [plain('    tune.ssl.default-dh-param 2048')] : []),
    // All frontends share one cache, and a resumed session (TLS 1.2) presents no certificate. Tickets remain, which are
    // valid only where they were issued.
    ...(servedFrontends(view).some(({ enabled, clientVerify = 'none' }) => enabled && clientVerify !== 'none')
      ? [plain('    tune.ssl.cachesize 0')]
      : []),
    plain(`    server-state-file ${quote(stateFile)}`),
    ...rawOfWhole(view, 'global'),
    EMPTY,
  ]
}

/** Every proxy sets its own timeouts; these only keep HAProxy's internal proxies from waiting for ever. */
const DEFAULTS: readonly Statement[] = [
  plain('defaults'),
  plain('    timeout connect 5s'),
  plain('    timeout client 60s'),
  plain('    timeout server 60s'),
  comment('    # Long connections are counted while they last, every five seconds, and not all at once when they end.'),
  plain('    option contstats'),
  plain('    load-server-state-from-file global'),
]

function limitStatements(frontend: L7Frontend): readonly Statement[] {
  const line = linesOf('l7Frontends', frontend.id)
  return limitsOf(frontend).map(({ at, statement }) => line(statement, `rules.${at}`))
}
