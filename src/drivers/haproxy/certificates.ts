import { createPublicKey, createHash, X509Certificate } from 'node:crypto'
import { dirname } from 'node:path'
import { certificateSummaries } from '../../base/certificate-summary.ts'
import type { Certificate } from '../../model/certificates.ts'
import type { ConfigView } from '../../model/sections.ts'
import type { FileContent, KeepOnlyStep, ReplaceFileStep, SocketCommand, SocketStep } from '../driver.ts'
import { command, toWorker } from './cli.ts'
import type { HaproxyPaths } from './paths.ts'
import { servedFrontends } from './resting.ts'
import { sharesTable, sharingFiles } from './sharing.ts'
import { quote } from './statement.ts'

const FILE_MODE = 0o600
const FILE_TIMEOUT_MS = 10_000
const ANSWER_TIMEOUT_MS = 5_000
const PER_CERTIFICATE_TIMEOUT_MS = 500
/** A command that exceeds HAProxy's buffer of 16 KiB crashes it; the words before the payload count as well. */
const PAYLOAD_BYTES_MAX = 14_000
/** Each needs several commands; beyond this number a reload is quicker. */
const AT_RUNTIME_MAX = 50

/** A folder of ours beside haproxy.cfg: foreign files are removed from it. */
export const certificateFolder = ({ configFile }: HaproxyPaths): string => `${dirname(configFile)}/fulcrum-certs`

/**
 * Lines in lists of certificates cannot be quoted. If they cannot hold the whole path, they have only the name, and
 * haproxy.cfg names this folder; otherwise undefined.
 */
export function certificateBase(view: ConfigView, paths: HaproxyPaths): string | undefined {
  const folder = certificateFolder(paths)
  return isPlain(folder) || usedCertificates(view).length === 0 ? undefined : folder
}

const isPlain = (folder: string): boolean => quote(folder) === folder

const pemName = (id: string) => `${id}.pem`
/** The suffix matters, because a frontend and a certificate may have the same id. */
export const listName = (frontendId: string) => `${frontendId}.list`
/** File of the authorities for client certificates of a frontend. */
export const clientsName = (frontendId: string) => `${frontendId}.clients`

/** Returns the certificates that enabled frontends present, sorted by id. */
export function usedCertificates(view: ConfigView): readonly Certificate[] {
  const ids = new Set<string>()
  for (const { enabled, certificates = [] } of servedFrontends(view))
    if (enabled) for (const id of certificates) ids.add(id)
  return [...ids]
    .toSorted()
    .map((id) => view.get('certificates', id))
    .filter((certificate) => certificate !== undefined)
}

/** Returns a certificate as HAProxy reads it, with the key last. */
const pemOf = ({ chain, privateKey }: Certificate): string => `${chain.trimEnd()}\n${privateKey.trimEnd()}\n`

/** Returns the certificate list and client authorities of each frontend with TLS. */
function ofFrontends(view: ConfigView, folder: string, shown: (pem: string) => string): readonly FileContent[] {
  const before = isPlain(folder) ? `${folder}/` : ''
  return servedFrontends(view)
    .filter(({ enabled, certificates = [] }) => enabled && certificates.length > 0)
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))
    .flatMap(({ id, certificates = [], clientCa = '' }) => [
      // In the frontend's order: the first is the default.
      {
        path: `${folder}/${listName(id)}`,
        content: certificates.map((certificate) => `${before}${pemName(certificate)}\n`).join(''),
      },
      ...(clientCa === '' ? [] : [{ path: `${folder}/${clientsName(id)}`, content: shown(clientCa) }]),
    ])
}

/** Returns the files that haproxy.cfg names. */
export function certificateFiles(view: ConfigView, paths: HaproxyPaths): readonly FileContent[] {
  const folder = certificateFolder(paths)
  const pems = usedCertificates(view).map((used) => ({ path: `${folder}/${pemName(used.id)}`, content: pemOf(used) }))
  const { sharing } = paths
  const shared = sharing === undefined || !sharesTable(view) ? [] : sharingFiles(sharing, folder)
  return [...pems, ...ofFrontends(view, folder, (pem) => `${pem.trimEnd()}\n`), ...shared]
}

/**
 * Returns these files for people: keys only by their fingerprint, and no file that is not part of the configuration.
 */
export function certificatePreviews(view: ConfigView, paths: HaproxyPaths): readonly FileContent[] {
  const folder = certificateFolder(paths)
  const pems = usedCertificates(view).map(({ id, chain, privateKey }) => ({
    path: `${folder}/${pemName(id)}`,
    content: `${summaryText(chain)}# private key ${keyName(privateKey)}\n`,
  }))
  return [...pems, ...ofFrontends(view, folder, summaryText)]
}

const summaryText = (chain: string): string =>
  certificateSummaries(chain)
    .map(({ subject, validTo, sha256 }) => `# certificate ${subject}\n#   ends ${validTo}\n#   SHA-256 ${sha256}\n`)
    .join('')

/** Previews also show keys that an apply would refuse. */
function keyName(privateKey: string): string {
  try {
    const publicKey = createPublicKey(privateKey).export({ format: 'der', type: 'spki' })
    return `of the public key with SHA-256 ${createHash('sha256').update(publicKey).digest('hex')}`
  } catch {
    return 'that cannot be read'
  }
}

/** Removes files that no frontend uses any more, after the reload, at which HAProxy reads all of them. */
export function keepOnlyUsed(view: ConfigView, paths: HaproxyPaths): KeepOnlyStep {
  const folder = certificateFolder(paths)
  return {
    kind: 'keepOnly',
    why: 'remove unused certificate files',
    timeout_ms: FILE_TIMEOUT_MS,
    folder,
    names: certificateFiles(view, paths).map(({ path }) => path.slice(folder.length + 1)),
  }
}

export interface ContentChange {
  readonly before: Certificate
  readonly after: Certificate
}

/** Returns certificates that are used before and after, with changed content. */
export function contentChanges(running: ConfigView, desired: ConfigView): readonly ContentChange[] {
  const before = new Map(usedCertificates(running).map((certificate) => [certificate.id, certificate]))
  return usedCertificates(desired).flatMap((after) => {
    const old = before.get(after.id)
    return old === undefined || old === after || pemOf(old) === pemOf(after) ? [] : [{ before: old, after }]
  })
}

/** Whether a running HAProxy can load these without a reload. */
export function fitsRuntime(changes: readonly ContentChange[]): boolean {
  const fits = (certificate: Certificate) => Buffer.byteLength(pemOf(certificate)) <= PAYLOAD_BYTES_MAX
  return changes.length <= AT_RUNTIME_MAX && changes.every(({ before, after }) => fits(before) && fits(after))
}

/** Replaces certificates in the running HAProxy without affecting connections; new handshakes use the new ones. */
export function replacementSteps(
  changes: readonly ContentChange[],
  paths: HaproxyPaths,
): readonly (SocketStep | ReplaceFileStep)[] {
  if (changes.length === 0) return []
  const fileOf = ({ id }: Certificate) => `${certificateFolder(paths)}/${pemName(id)}`
  const socket: SocketStep = {
    kind: 'socket',
    why: `load ${changes.length === 1 ? 'a new certificate' : `${changes.length} new certificates`} into the running HAProxy`,
    timeout_ms: ANSWER_TIMEOUT_MS + changes.length * PER_CERTIFICATE_TIMEOUT_MS,
    path: paths.masterSocket,
    commands: changes.flatMap(({ after }) => replacement(fileOf(after), after)),
    readBack: changes.map(({ after }) => ({
      request: toWorker('current', command('show', 'ssl', 'cert', fileOf(after))),
      lines: ['Status: Used', ...identity(after)],
    })),
    undo: changes.toReversed().flatMap(({ before }) => [
      // A transaction that was begun and not committed would block all others.
      { request: toWorker('current', command('abort', 'ssl', 'cert', fileOf(before))), expect: ['*'] },
      ...replacement(fileOf(before), before),
    ]),
  }
  const files = changes.map(({ after }): ReplaceFileStep => ({
    kind: 'replaceFile',
    why: 'keep the certificate file in step with the running HAProxy',
    timeout_ms: FILE_TIMEOUT_MS,
    path: fileOf(after),
    content: pemOf(after),
    mode: FILE_MODE,
    checked: false,
  }))
  return [socket, ...files]
}

function replacement(file: string, certificate: Certificate): readonly SocketCommand[] {
  return [
    {
      request: toWorker('current', command('set', 'ssl', 'cert', file)),
      payload: pemOf(certificate),
      expect: ['Transaction created for certificate *', 'Transaction updated for certificate *'],
    },
    { request: toWorker('current', command('commit', 'ssl', 'cert', file)), expect: ['*Success!'] },
  ]
}

/** Returns the lines by which `show ssl cert` identifies a certificate. */
function identity({ chain }: Certificate): readonly string[] {
  try {
    const { fingerprint } = new X509Certificate(chain)
    return [`SHA1 FingerPrint: ${fingerprint.replaceAll(':', '')}`]
  } catch {
    // Plans are also made for unverified previews; this line is never printed.
    return ['SHA1 FingerPrint: of a certificate that cannot be read']
  }
}
