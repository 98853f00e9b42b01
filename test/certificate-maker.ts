import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { Certificate } from '../src/model/certificates.ts'
import { readCertificate } from '../workers/compute/certificate.ts'

export interface Pair {
  readonly cert: string
  readonly key: string
}

export interface MadeBy {
  /** The name of its subject, and its host name. */
  readonly name: string
  readonly issuer?: Pair
  readonly isCa?: boolean
  readonly key?: string
  readonly days?: number
  readonly hash?: string
  readonly names?: string
  /** A key that is there already. */
  readonly own?: Pair
}

/** Certificates as people have them: made by the program `openssl`. */
export function certificateMaker(test: Test) {
  const folder = mkdtempSync(join(tmpdir(), 'fulcrum-certificates-'))
  test.teardown(() => rmSync(folder, { recursive: true, force: true }))
  let count = 0
  const openssl = (...argv: readonly string[]): Buffer =>
    execFileSync('openssl', argv, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
  const written = (text: string): string => {
    const file = join(folder, `file${++count}`)
    writeFileSync(file, text)
    return file
  }
  const pair = (made: MadeBy): Pair => {
    const { name, issuer, isCa = false, key = 'ec:prime256v1', days = 30, hash = 'sha256', own } = made
    const certFile = join(folder, `cert${++count}`)
    const keyFile = join(folder, `key${count}`)
    const [kind, size] = key.split(':')
    const kinds: Readonly<Record<string, readonly string[]>> = {
      ec: ['ec', '-pkeyopt', `ec_paramgen_curve:${size}`],
      rsa: [`rsa:${size}`],
    }
    const keys =
      own === undefined
        ? ['-newkey', ...(kinds[kind ?? ''] ?? [kind ?? '']), '-nodes', '-keyout', keyFile]
        : ['-key', written(own.key)]
    const signer = issuer === undefined ? [] : ['-CA', written(issuer.cert), '-CAkey', written(issuer.key)]
    const use = isCa
      ? ['-addext', 'basicConstraints=critical,CA:TRUE', '-addext', 'keyUsage=keyCertSign,cRLSign']
      : ['-addext', 'basicConstraints=CA:FALSE', '-addext', `subjectAltName=${made.names ?? `DNS:${name}`}`]
    openssl(
      'req',
      '-x509',
      ...keys,
      ...signer,
      ...use,
      `-${hash}`,
      '-days',
      String(days),
      '-subj',
      `/C=DE/O=Example/CN=${name}`,
      '-out',
      certFile,
    )
    return { cert: readFileSync(certFile, 'utf8'), key: own?.key ?? readFileSync(keyFile, 'utf8') }
  }
  /** Base64. */
  const pfx = ({ cert, key }: Pair, password: string, ...more: readonly string[]): string => {
    const files = ['-inkey', written(key), '-in', written(cert)]
    return openssl('pkcs12', '-export', ...files, '-passout', `pass:${password}`, ...more).toString('base64')
  }
  const encryptedKey = ({ key }: Pair, password: string, ...more: readonly string[]): string =>
    openssl('pkey', '-in', written(key), '-aes256', '-passout', `pass:${password}`, ...more).toString()
  /** As it is stored. */
  const record = (id: string, { cert, key }: Pair, ...issuers: readonly Pair[]): Certificate => {
    const pem = [cert, key, ...issuers.map((issuer) => issuer.cert)].join('')
    const read = readCertificate({ upload: { form: 'pem', pem }, password: '', force: true, now_ms: Date.now() })
    if ('problems' in read) throw new Error(JSON.stringify(read.problems))
    return { id, name: id, ...read.certificate }
  }
  return { record, folder, openssl, written, pair, pfx, encryptedKey }
}
