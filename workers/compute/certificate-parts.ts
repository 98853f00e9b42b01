import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import type { CertificateForm, CertificateProblem } from '../../src/model/certificates.ts'
import { parseDer, Unreadable } from './certificate-asn1.ts'
import type { Found } from './certificate-chain.ts'
import { WorkBudget, WrongPassword } from './certificate-encryption.ts'
import { BLOCKS_MAX, type PemBlock, pemBlocks } from './certificate-pem.ts'
import { openKey, openPfx } from './certificate-pfx.ts'

const CERTIFICATE_LABELS: ReadonlySet<string> = new Set(['CERTIFICATE', 'X509 CERTIFICATE'])
const KEY_LABELS: ReadonlySet<string> = new Set(['PRIVATE KEY', 'RSA PRIVATE KEY', 'EC PRIVATE KEY'])
const ENCRYPTED_KEY = 'ENCRYPTED PRIVATE KEY'
/** Blocks that OpenSSL writes beside keys. */
const IGNORED: ReadonlySet<string> = new Set(['EC PARAMETERS', 'DH PARAMETERS', 'X509 CRL'])
export const UPLOAD_BYTES_MAX = 256 * 1024

/** The certificates and keys of an upload before they are judged, with all problems of its fields. */
export class UploadParts {
  readonly certificates: Found[] = []
  readonly keys: { readonly key: KeyObject; readonly field: string }[] = []
  readonly problems: CertificateProblem[] = []
  readonly #password: string
  readonly #budget = new WorkBudget()
  readonly #seen = new Set<string>()

  constructor(upload: CertificateForm, password: string) {
    this.#password = password
    if (upload.form === 'pfx') this.#pfx(upload.pfx)
    if (upload.form === 'pem') this.#pem('pem', upload.pem)
    if (upload.form === 'parts') {
      this.#pem('cert', upload.cert)
      this.#pem('privateKey', upload.privateKey)
      for (const [index, text] of upload.otherCerts.entries()) this.#pem(`otherCerts.${index}`, text)
    }
  }

  problem(field: string, message: string, code: CertificateProblem['code'] = 'INVALID_BODY'): void {
    this.problems.push({ field, code, message })
  }

  #pfx(base64: string): void {
    const text = base64.replaceAll(/\s+/g, '')
    if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return this.problem('pfx', 'must be base64')
    try {
      const { certificates, keys } = openPfx(Buffer.from(text, 'base64'), this.#password)
      if (certificates.length > BLOCKS_MAX) return this.problem('pfx', `contains more than ${BLOCKS_MAX} certificates`)
      for (const der of certificates) this.#certificate('pfx', der)
      for (const der of keys) this.#key('pfx', der)
    } catch (error) {
      if (error instanceof WrongPassword) return this.problem('password', 'does not open the PFX', 'PFX_PASSWORD')
      this.problem('pfx', error instanceof Unreadable ? error.message : 'is damaged, or not a PFX')
    }
  }

  #pem(field: string, text: string): void {
    const blocks = pemBlocks(text)
    if (typeof blocks === 'string') return this.problem(field, blocks)
    if (blocks.length === 0) return this.problem(field, 'contains no PEM block (-----BEGIN …-----)')
    for (const block of blocks) this.#block(field, block)
  }

  #block(field: string, block: PemBlock): void {
    const { label, der, text } = block
    if (IGNORED.has(label)) return
    if (CERTIFICATE_LABELS.has(label)) {
      if (field === 'privateKey') return this.problem(field, 'contains a certificate, but only the key belongs there')
      if (this.certificates.length === BLOCKS_MAX) return this.#tooMany(field)
      return this.#certificate(field, der)
    }
    const isKey = KEY_LABELS.has(label) || label === ENCRYPTED_KEY
    if (!isKey) return this.problem(field, `contains a ${label}, which is not part of a certificate`)
    if (field !== 'pem' && field !== 'privateKey')
      return this.problem(field, 'contains a private key, which belongs in privateKey')
    if (label === ENCRYPTED_KEY) return this.#encryptedKey(field, der)
    if (text.includes('Proc-Type:')) return this.#oldEncryptedKey(field, text)
    const type = label === 'PRIVATE KEY' ? 'pkcs8' : label === 'RSA PRIVATE KEY' ? 'pkcs1' : 'sec1'
    this.#key(field, der, type)
  }

  /** Reported once: a problem for each of thousands would make the answer longer than the request. */
  #tooMany(field: string): void {
    const message = `contains more than ${BLOCKS_MAX} certificates, with the other fields`
    if (!this.problems.some((problem) => problem.message === message)) this.problem(field, message)
  }

  #certificate(field: string, der: Buffer): void {
    try {
      const certificate = new X509Certificate(der)
      // Node decodes the key lazily. Reading it here makes sure that nothing throws later.
      void certificate.publicKey
      if (this.#seen.has(certificate.fingerprint256)) return
      this.#seen.add(certificate.fingerprint256)
      this.certificates.push({ certificate, field })
    } catch {
      this.problem(field, 'contains a certificate that cannot be read')
    }
  }

  #key(field: string, der: Buffer, type: 'pkcs8' | 'pkcs1' | 'sec1' = 'pkcs8'): void {
    try {
      this.keys.push({ key: createPrivateKey({ key: der, format: 'der', type }), field })
    } catch {
      this.problem(field, 'contains a private key that cannot be read')
    }
  }

  #encryptedKey(field: string, der: Buffer): void {
    if (this.#password === '') return this.#passwordMissing()
    try {
      this.#key(field, openKey(parseDer(der), this.#password, this.#budget))
    } catch (error) {
      if (error instanceof WrongPassword) return this.#passwordWrong()
      this.problem(
        field,
        error instanceof Unreadable
          ? `contains a private key that ${error.message}`
          : 'contains a private key that cannot be read',
      )
    }
  }

  /** Keys as OpenSSL encrypted them before PKCS #8. One round of hashing, so no budget is needed. */
  #oldEncryptedKey(field: string, key: string): void {
    if (this.#password === '') return this.#passwordMissing()
    try {
      this.keys.push({ key: createPrivateKey({ key, format: 'pem', passphrase: this.#password }), field })
    } catch {
      this.#passwordWrong()
    }
  }

  #passwordMissing(): void {
    this.problem('password', 'is required: the private key is encrypted')
  }
  #passwordWrong(): void {
    this.problem('password', 'does not open the private key')
  }
}

/** Bytes of everything that was sent; a PFX counts without its base64. */
export function uploadBytes(upload: CertificateForm): number {
  if (upload.form === 'pfx') return Math.ceil((upload.pfx.replaceAll(/\s+/g, '').length * 3) / 4)
  const texts = upload.form === 'pem' ? [upload.pem] : [upload.cert, upload.privateKey, ...upload.otherCerts]
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
}
