import { createPrivateKey, createPublicKey, KeyObject, randomBytes, type webcrypto, X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import type { Extension, Pkcs10CertificateRequest } from '@peculiar/x509'
import { canonicalIp } from '../base/ip-network.ts'
import { isHostName } from '../base/host-name.ts'
import { CertificateError, isCertificateId, nodeUri, pinOf, pinOfKey } from './node-certificate.ts'

/** The two authorities of a cluster, and the certificates and revocation lists that they issue. */

/**
 * `peer` certificates allow voting (etcd's port for members, also for the witness); `client` certificates allow reading
 * and writing.
 */
export type AuthorityRole = 'peer' | 'client'

/** An authority as it is stored. Its key can admit any node, so it is sealed wherever it is stored. */
export interface StoredAuthority {
  readonly role: AuthorityRole
  readonly clusterId: string
  /** In PEM. */
  readonly certificate: string
  /** PKCS#8 in PEM. */
  readonly key: string
}

/**
 * A node with the addresses at which it is reached and from which it connects: etcd compares both with its certificate.
 */
export interface Named {
  readonly nodeId: string
  /** IPv4, IPv6 and host names. */
  readonly addresses: readonly string[]
}

/** Both in PEM. */
export interface NamedKey {
  readonly key: string
  readonly certificate: string
}

export interface Revoked {
  /** In hexadecimal digits, as `readNodeCertificate` returns it. */
  readonly serial: string
  readonly at_ms: number
}

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const
const HOUR_MS = 3_600_000
const YEAR_MS = 365 * 24 * HOUR_MS
const AUTHORITY_YEARS = 20
const WITHOUT_END = '9999-12-31T23:59:59Z'
/** RFC 5280 allows 20 bytes; 16 random ones never collide. */
const SERIAL_BYTES = 16
const ADDRESSES_MAX = 32
const REQUEST_LENGTH_MAX = 4096
const OID_CRL_NUMBER = '2.5.29.20'

/** Loads the X.509 library. It is large and needed a few times a year, so a start of the daemon does not load it. */
async function library() {
  // The library's dependency injection requires this polyfill first.
  await import('reflect-metadata')
  return await import('@peculiar/x509')
}

/**
 * Encodes in PEM. The library's own form is not used: it labels lists in a way that OpenSSL does not read (RFC 7468,
 * section 6), and ends without a line break, so chains could not be concatenated.
 */
async function pemOf(label: string, { rawData }: { readonly rawData: ArrayBuffer }): Promise<string> {
  return `${(await library()).PemConverter.encode(rawData, label)}\n`
}

const newKeys = () => crypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])
const keyPem = (key: webcrypto.CryptoKey) => KeyObject.from(key).export({ type: 'pkcs8', format: 'pem' }).toString()
const newSerial = () => randomBytes(SERIAL_BYTES).toString('hex')

/**
 * Makes a key and the request (PKCS#10, RFC 2986) for its certificate on the node itself: the key never leaves it.
 *
 * @returns both in PEM.
 */
export async function newNodeRequest(): Promise<{ readonly key: string; readonly request: string }> {
  const keys = await newKeys()
  return { key: keyPem(keys.privateKey), request: await requestOf(keys) }
}

/**
 * Makes a key with a self-signed certificate, which is valid wherever the certificate itself is named, for as long as
 * it is named there, and so without an end (RFC 5280, section 4.1.2.5).
 *
 * @returns both in PEM.
 */
export async function newNamedKey(clusterId: string, nodeId: string, now_ms: number): Promise<NamedKey> {
  assertId(clusterId, 'cluster')
  assertId(nodeId, 'node')
  const x509 = await library()
  const keys = await newKeys()
  const { serverAuth, clientAuth } = x509.ExtendedKeyUsage
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: newSerial(),
    name: new x509.Name([{ O: [clusterId] }, { OU: [nodeId] }]),
    notBefore: new Date(now_ms - YEAR_MS),
    notAfter: new Date(WITHOUT_END),
    signingAlgorithm: ALGORITHM,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([serverAuth, clientAuth]),
    ],
  })
  return { key: keyPem(keys.privateKey), certificate: await pemOf('CERTIFICATE', certificate) }
}

/** Makes the request for another certificate of a node's existing key: its pin stays. Both are in PEM. */
export async function requestFor(key: string): Promise<string> {
  const own = createPrivateKey(key)
  const [pkcs8, spki] = [
    own.export({ type: 'pkcs8', format: 'der' }),
    createPublicKey(own).export({ type: 'spki', format: 'der' }),
  ]
  return await requestOf({
    privateKey: await crypto.subtle.importKey('pkcs8', pkcs8, ALGORITHM, true, ['sign']),
    publicKey: await crypto.subtle.importKey('spki', spki, ALGORITHM, true, ['verify']),
  })
}

async function requestOf(keys: webcrypto.CryptoKeyPair): Promise<string> {
  const { Pkcs10CertificateRequestGenerator } = await library()
  const request = await Pkcs10CertificateRequestGenerator.create({ keys, signingAlgorithm: ALGORITHM })
  return await pemOf('CERTIFICATE REQUEST', request)
}

/** An authority with its key in memory. The key is a private field, so printing the object never prints it. */
export class Authority {
  readonly role: AuthorityRole
  readonly clusterId: string
  /** In PEM. */
  readonly certificate: string
  /** The pin in tokens, see `pinOf`. */
  readonly pin: string
  readonly #key: webcrypto.CryptoKey
  readonly #notAfter_ms: number

  private constructor({ role, clusterId, certificate }: Omit<StoredAuthority, 'key'>, key: webcrypto.CryptoKey) {
    const parsed = new X509Certificate(certificate)
    this.role = role
    this.clusterId = clusterId
    this.certificate = certificate
    this.pin = pinOf(parsed)
    this.#key = key
    this.#notAfter_ms = Date.parse(parsed.validTo)
  }

  /**
   * Creates an authority: EC P-256, self-signed, 20 years, for nodes only (no authority below it). Its validity begins
   * a year in the past: the clock of the creating node may be ahead, and all others must accept it at once. A node
   * whose clock is off by more than the validity of node certificates reaches no other node.
   *
   * @throws {CertificateError} when the id of the cluster does not fit a name.
   */
  static async create(role: AuthorityRole, clusterId: string, now_ms: number): Promise<Authority> {
    assertId(clusterId, 'cluster')
    const x509 = await library()
    const keys = await newKeys()
    const { keyCertSign, cRLSign } = x509.KeyUsageFlags
    const certificate = await x509.X509CertificateGenerator.createSelfSigned({
      serialNumber: newSerial(),
      // Each authority has its own name, so that no certificate is looked up under the wrong one.
      name: new x509.Name([{ O: [clusterId] }, { CN: [nameOfAuthority(role)] }]),
      notBefore: new Date(now_ms - YEAR_MS),
      notAfter: new Date(now_ms + AUTHORITY_YEARS * YEAR_MS),
      signingAlgorithm: ALGORITHM,
      keys,
      extensions: [
        new x509.BasicConstraintsExtension(true, 0, true),
        new x509.KeyUsagesExtension(keyCertSign | cRLSign, true),
        await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      ],
    })
    return new Authority({ role, clusterId, certificate: await pemOf('CERTIFICATE', certificate) }, keys.privateKey)
  }

  /**
   * Reads a stored authority.
   *
   * @throws {CertificateError} when certificate and key do not belong to one authority.
   */
  static async from({ key, ...rest }: StoredAuthority): Promise<Authority> {
    const parsed = keyOf({ ...rest, key })
    if (parsed === undefined)
      throw new CertificateError('The stored data is not the certificate and key of this authority')
    const pkcs8 = parsed.export({ type: 'pkcs8', format: 'der' })
    return new Authority(rest, await crypto.subtle.importKey('pkcs8', pkcs8, ALGORITHM, true, ['sign']))
  }

  /** Returns the authority with its key, for code that seals and stores it. */
  stored(): StoredAuthority {
    const { role, clusterId, certificate } = this
    return { role, clusterId, certificate, key: keyPem(this.#key) }
  }

  /**
   * Issues the certificate of a node, as server and as client, for a year or until the authority itself ends. Only the
   * key of the request is used, which the request proves to be its sender's; the cluster decides on the contents of the
   * certificate. Its validity begins with that of the authority: the issuer's clock may be months ahead and be
   * corrected afterwards. This is safe, because a key that did not exist yet has signed nothing.
   *
   * The subject has no CN: etcd takes a CN for the name of one of its own users, and cannot do so through its JSON
   * gateway.
   *
   * @param request PKCS#10 in PEM.
   * @returns PEM.
   * @throws {CertificateError} when the request, the id or an address is refused.
   */
  async issue(request: string, { nodeId, addresses }: Named, now_ms: number): Promise<string> {
    assertId(nodeId, 'node')
    const names = addresses.map(nameOf)
    if (names.length > ADDRESSES_MAX) throw new CertificateError(`A node has at most ${ADDRESSES_MAX} addresses`)
    const x509 = await library()
    const { publicKey } = await readRequest(request)
    const own = new x509.X509Certificate(this.certificate)
    const { serverAuth, clientAuth } = x509.ExtendedKeyUsage
    const certificate = await x509.X509CertificateGenerator.create({
      serialNumber: newSerial(),
      subject: new x509.Name([{ O: [this.clusterId] }, { OU: [nodeId] }]),
      issuer: own.subjectName,
      notBefore: own.notBefore,
      notAfter: new Date(Math.min(now_ms + YEAR_MS, this.#notAfter_ms)),
      publicKey,
      signingKey: this.#key,
      signingAlgorithm: ALGORITHM,
      extensions: [
        new x509.BasicConstraintsExtension(false, undefined, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
        new x509.ExtendedKeyUsageExtension([serverAuth, clientAuth]),
        new x509.SubjectAlternativeNameExtension([{ type: 'url', value: nodeUri(nodeId) }, ...names]),
        await x509.SubjectKeyIdentifierExtension.create(publicKey),
        await this.#keyIdentifier(own.publicKey),
      ],
    })
    return await pemOf('CERTIFICATE', certificate)
  }

  /**
   * Makes the list of revoked certificates. A new one is made with each revocation and reaches all nodes through the
   * log, so it names the end of the authority as the time of the next one. With an earlier end, a cluster that was
   * switched off for longer would refuse itself: OpenSSL refuses every certificate when the list has expired.
   *
   * @param number greater than that of each list before (RFC 5280, section 5.2.3).
   * @returns PEM.
   */
  async revocationList(revoked: readonly Revoked[], number: number): Promise<string> {
    if (!Number.isSafeInteger(number) || number < 0)
      throw new CertificateError('The number of a list must be an integer')
    const x509 = await library()
    const own = new x509.X509Certificate(this.certificate)
    const at = new Map(revoked.map(({ serial, at_ms }) => [serial.toLowerCase(), at_ms]))
    const list = await x509.X509CrlGenerator.create({
      issuer: own.subjectName,
      // As in its certificates: the clock may be ahead, and the newest list is identified by its number.
      thisUpdate: own.notBefore,
      nextUpdate: new Date(this.#notAfter_ms),
      signingKey: this.#key,
      signingAlgorithm: ALGORITHM,
      entries: [...at].map(([serialNumber, at_ms]) => ({
        serialNumber,
        revocationDate: new Date(at_ms),
        reason: x509.X509CrlReason.cessationOfOperation,
      })),
      extensions: [
        await this.#keyIdentifier(own.publicKey),
        new x509.Extension(OID_CRL_NUMBER, false, derInteger(number)),
      ],
    })
    return await pemOf('X509 CRL', list)
  }

  async #keyIdentifier(key: Pkcs10CertificateRequest['publicKey']): Promise<Extension> {
    return await (await library()).AuthorityKeyIdentifierExtension.create(key)
  }
}

function assertId(id: string, whose: 'cluster' | 'node'): void {
  if (!isCertificateId(id))
    throw new CertificateError(`The id of a ${whose} must have 1 to 64 letters, digits and hyphens`)
}

function nameOf(address: string): { readonly type: 'ip' | 'dns'; readonly value: string } {
  if (isIP(address) !== 0 && !address.includes('%')) return { type: 'ip', value: canonicalIp(address) }
  if (isHostName(address)) return { type: 'dns', value: address }
  throw new CertificateError('The address of a node must be an IPv4 or IPv6 address without a zone, or a host name')
}

const nameOfAuthority = (role: AuthorityRole) => `Fulcrum ${role} authority`

/** Returns the key if it matches the certificate and that is this authority's: a cluster's two are easily swapped. */
function keyOf({ role, clusterId, certificate, key }: StoredAuthority): KeyObject | undefined {
  try {
    const parsed = createPrivateKey(key)
    const shown = new X509Certificate(certificate)
    const isIt = shown.ca && shown.subject === `O=${clusterId}\nCN=${nameOfAuthority(role)}`
    return isIt && shown.checkPrivateKey(parsed) ? parsed : undefined
  } catch {
    return undefined
  }
}

/**
 * Returns the pin of the requested key, which is also that of the future certificate.
 *
 * @throws {CertificateError} when it is no request.
 */
export async function pinOfRequest(request: string): Promise<string> {
  const { publicKey } = await readRequest(request)
  return pinOfKey(Buffer.from(publicKey.rawData))
}

/** Reads a request that proves possession of its P-256 key. Its sender may be any holder of a token. */
async function readRequest(text: string): Promise<Pkcs10CertificateRequest> {
  const { Pkcs10CertificateRequest: Request } = await library()
  try {
    if (text.length <= REQUEST_LENGTH_MAX) {
      const request = new Request(text)
      const { name, namedCurve } = request.publicKey.algorithm as {
        readonly name: string
        readonly namedCurve?: string
      }
      if (name === ALGORITHM.name && namedCurve === ALGORITHM.namedCurve && (await request.verify())) return request
    }
  } catch {
    // The error below covers this case.
  }
  throw new CertificateError('This is not a certificate request (PKCS#10, PEM) signed with its own P-256 key')
}

/** INTEGER of X.690, section 8.3: the shortest form, with a zero byte where the first bit would be a sign. */
function derInteger(value: number): Uint8Array {
  const hex = BigInt(value).toString(16)
  const digits = hex.length % 2 === 0 ? hex : `0${hex}`
  const bytes = Buffer.from(/^[89a-f]/.test(digits) ? `00${digits}` : digits, 'hex')
  return Uint8Array.of(0x02, bytes.length, ...bytes)
}
